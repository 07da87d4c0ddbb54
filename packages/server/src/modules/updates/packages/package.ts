import { encodeId } from '../../../kernel/ids.ts'

type Named = { version: string; platform: string; arch: string; filename: string }

/** Returns the path in the TUF repository. Each part has a fixed form without a slash or `..`. */
export const pathOfTarget = ({ version, platform, arch, filename }: Named): string =>
  `${version}/${platform}/${arch}/${filename}`

export const targetOfPackage = (p: Named & { package_id: string }) => ({
  type: 'package',
  id: encodeId('package', p.package_id),
  name: pathOfTarget(p),
})
