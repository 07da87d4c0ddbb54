import { useSyncExternalStore } from 'react'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]
export const densities = ['compact', 'default', 'roomy'] as const
export type Density = (typeof densities)[number]

type Preference = 'theme' | 'density'
const yearSeconds = 31_536_000
const listeners = new Set<() => void>()
const root = document.documentElement

/**
 * Stores a choice in a cookie, so that the server renders the next page with it and nothing flashes. Applies it to the
 * current page too. The default has no cookie and no attribute.
 */
function choose(name: Preference, value: string | undefined): void {
  const secure = window.location.protocol === 'https:' ? '; Secure' : ''
  const age = value === undefined ? 0 : yearSeconds
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not in every browser
  document.cookie = `holdfast_${name}=${value ?? ''}; Path=/admin; Max-Age=${age}; SameSite=Lax${secure}`
  if (value === undefined) delete root.dataset[name]
  else root.dataset[name] = value
  for (const listener of listeners) listener()
}
export const chooseTheme = (theme: Theme): void => choose('theme', theme === 'system' ? undefined : theme)
export const chooseDensity = (density: Density): void => choose('density', density === 'default' ? undefined : density)

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
const chosenTheme = () => (root.dataset.theme ?? 'system') as Theme
const chosenDensity = () => (root.dataset.density ?? 'default') as Density

export const useTheme = (): Theme => useSyncExternalStore(subscribe, chosenTheme)
export const useDensity = (): Density => useSyncExternalStore(subscribe, chosenDensity)
