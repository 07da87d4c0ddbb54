import { encodeId } from '../../../kernel/ids.ts'

type Named = { version: string; platform: string; arch: string; filename: string }

/** Its path in the TUF repository: the parts are of closed forms, none of which has a slash or is a step upwards. */
export const pathOfTarget = ({ version, platform, arch, filename }: Named): string =>
  `${version}/${platform}/${arch}/${filename}`

export const targetOfPackage = (p: Named & { package_id: string }) => ({
  type: 'package',
  id: encodeId('package', p.package_id),
  name: pathOfTarget(p),
})
