import type { ReactNode } from 'react'
import { useNavigation } from '../../navigation.ts'
import { openOverlay } from '../../shell/overlay.ts'
import {
  chooseDensity,
  chooseTheme,
  type Density,
  densities,
  type Theme,
  themes,
  useDensity,
  useTheme,
} from '../../shell/preferences.ts'
import { Button } from '../../ui/button.tsx'
import { formatWord } from '../../ui/format.ts'
import { Segment } from '../../ui/tabs.tsx'
import { chooseTimeZone, useTimeZone } from '../../ui/time-zone.ts'
import { Section } from './section.tsx'

const optionsOf = <V extends string>(values: readonly V[]) =>
  values.map((value) => ({ value, label: formatWord(value) }))
const zones = [
  { value: 'utc', label: 'UTC' },
  { value: 'local', label: 'Local' },
] as const

/** Settings of this browser for the console. */
export function DisplaySection() {
  const theme = useTheme()
  const density = useDensity()
  const zone = useTimeZone()
  const { change } = useNavigation()
  const changeZone = (next: 'utc' | 'local') => {
    chooseTimeZone(next)
    // The address takes precedence over the stored choice, so both change.
    change({ tz: next === 'local' ? 'local' : undefined }, { replace: true })
  }
  return (
    <Section id="display" title="Display" aside="Kept in this browser">
      <Row label="Theme" help="System follows the setting of your computer.">
        <Segment label="Theme" options={optionsOf<Theme>(themes)} value={theme} onChange={chooseTheme} />
      </Row>
      <Row label="Density" help="Height of the rows of a list.">
        <Segment label="Density" options={optionsOf<Density>(densities)} value={density} onChange={chooseDensity} />
      </Row>
      <Row label="Times" help="The audit log, exports and the API always use UTC.">
        <Segment label="Times" options={zones} value={zone} onChange={changeZone} />
      </Row>
      <Row label="Keyboard" help="Each view and each action on a list has a key.">
        <Button kbd="?" onClick={() => openOverlay({ kind: 'help' })}>
          Show shortcuts
        </Button>
      </Row>
    </Section>
  )
}

const Row = ({ label, help, children }: { label: string; help: string; children: ReactNode }) => (
  <div className="set">
    <div>
      <span className="lab">{label}</span>
      <div className="help">{help}</div>
    </div>
    <div className="unit">{children}</div>
  </div>
)
