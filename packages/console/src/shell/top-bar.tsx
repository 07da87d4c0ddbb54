import { Icon } from '../ui/icon.tsx'
import { IconButton } from '../ui/icon-button.tsx'
import { Kbd } from '../ui/kbd.tsx'
import { AccountMenu } from './account-menu.tsx'
import { useOpenAlerts } from './open-alerts.ts'
import { openOverlay } from './overlay.ts'
import { preloadOverlays } from './overlays.tsx'
import { chooseTheme, themes, useTheme } from './preferences.ts'
import { TenantSwitcher } from './tenant-switcher.tsx'

const themeNames = { system: 'follows the system', light: 'light', dark: 'dark' }

/** Tenant, search, alerts, help, theme and account. */
export function TopBar() {
  return (
    <header className="topbar">
      <button className="iconbtn menubtn" type="button" popoverTarget="nav" aria-label="Open navigation">
        <Icon name="menu" />
      </button>
      <TenantSwitcher />
      <button
        className="searchbtn"
        type="button"
        aria-keyshortcuts="Control+K"
        onClick={() => openOverlay({ kind: 'palette' })}
        onPointerEnter={preloadOverlays}
        onFocus={preloadOverlays}
      >
        <Icon name="search" />
        <span>Search or run…</span>
        <Kbd>Ctrl K</Kbd>
      </button>
      <div className="topright">
        <AlertsButton />
        <IconButton
          icon="help"
          label="Help and shortcuts"
          className="hide-s"
          onClick={() => openOverlay({ kind: 'help' })}
        />
        <ThemeButton />
        <AccountMenu />
      </div>
    </header>
  )
}

function AlertsButton() {
  const { count, shown, isKnown } = useOpenAlerts()
  return (
    <button
      className="iconbtn"
      type="button"
      aria-label={isKnown ? `Alerts: ${count === 0 ? 'none' : shown} open` : 'Alerts'}
      onClick={() => openOverlay({ kind: 'alerts' })}
    >
      <Icon name="bell" />
      {count > 0 && (
        <span className="pip" aria-hidden="true">
          {shown}
        </span>
      )}
    </button>
  )
}

function ThemeButton() {
  const theme = useTheme()
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system'
  return (
    <IconButton
      icon="theme"
      label={`Theme: ${themeNames[theme]}`}
      className="hide-s"
      onClick={() => chooseTheme(next)}
    />
  )
}
