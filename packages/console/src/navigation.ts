import { type NavigateOptions, useNavigate, useRouterState } from '@tanstack/react-router'
import { useMemo } from 'react'

/** Query parameters of an address as texts, as in `URLSearchParams`. */
export type Search = Readonly<Record<string, string>>
/** Parameters to set; undefined removes one. */
export type SearchChange = Readonly<Record<string, string | undefined>>
type ChangeOptions = { replace?: boolean; state?: (now: object) => object }

export const parseSearch = (text: string): Search => Object.fromEntries(new URLSearchParams(text))

export const useSearch = (): Search => useRouterState({ select: (state) => state.location.search as Search })

/**
 * Returns functions that open another view, and that change parameters of the current address. The routes are built
 * from the list of features, so the router has no types for their paths.
 *
 * @example const { go, change } = useNavigation(); go('/admin/devices', { q: 'ana' }); change({ tab: 'policy' })
 */
export function useNavigation() {
  const navigate = useNavigate()
  return useMemo(() => {
    const open = (options: object) => void navigate(options as NavigateOptions)
    return {
      /** @param path of a view; it may have a query of its own */
      go: (path: string, search?: Search, { replace = false } = {}) => {
        const [to, query = ''] = path.split('?')
        open({ to, search: { ...parseSearch(query), ...search }, replace })
      },
      /** @param state keeps the state of the history entry unless given */
      change: (search: SearchChange, { replace = false, state = (now) => now }: ChangeOptions = {}) =>
        open({ to: '.', search: (now: Search) => ({ ...now, ...search }), state, replace, resetScroll: false }),
    }
  }, [navigate])
}
