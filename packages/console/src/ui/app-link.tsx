import { Link, useRouter } from '@tanstack/react-router'
import type { ComponentProps } from 'react'

type AppLinkProps = Omit<ComponentProps<'a'>, 'href'> & {
  /** Path inside the console, with its query: `/admin/devices?status=active`. */
  to: string
}

/**
 * Link inside the console. It takes any path as text, so that paths from the API or a table work too.
 *
 * @example <AppLink to={`/admin/devices/${device.id}`}>{device.name}</AppLink>
 */
export function AppLink({ to, ...rest }: AppLinkProps) {
  const router = useRouter()
  const [beforeHash = '', hash] = to.split('#')
  const [path = '', query] = beforeHash.split('?')
  const search = query === undefined ? {} : { search: router.options.parseSearch?.(query) as never }
  return <Link {...(rest as object)} to={path as '/'} {...search} {...(hash !== undefined && { hash })} />
}
