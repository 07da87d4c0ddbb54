import { useEffect } from 'react'
import { useOffReason } from '../../api/me.ts'
import { isTyping } from '../../ui/is-typing.ts'
import type { Device } from '../devices/words.ts'
import { deviceKeys } from './device-keys.ts'

/** Registers the keys of a device on its own page. */
export function useDeviceKeys(device: Device | undefined): void {
  const off = useOffReason()
  useEffect(() => {
    if (!device) return
    const verbs = deviceKeys(() => device, off)
    const onKey = (event: KeyboardEvent) => {
      const isOurs = !event.defaultPrevented && !event.altKey && !event.ctrlKey && !event.metaKey && !isTyping(event)
      const verb = isOurs && !document.querySelector('dialog[open]') ? verbs[event.key] : undefined
      if (!verb) return
      event.preventDefault()
      verb(device.device_id)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [device, off])
}
