import { classes } from '../ui/classes.ts'
import { formatNumber } from '../ui/format.ts'

type Props = { impact: { grants_gained: number; grants_lost: number; devices_affected: number } }

/** Grants gained and lost by a publication, and the devices that it affects. */
export const GrantSums = ({ impact: { grants_gained, grants_lost, devices_affected } }: Props) => (
  <div className="gl">
    <Sum value={grants_gained} word="grants gained" />
    <Sum value={grants_lost} word="grants lost" isBad={grants_lost > 0} />
    <Sum value={devices_affected} word="devices" />
  </div>
)

const Sum = ({ value, word, isBad = false }: { value: number; word: string; isBad?: boolean }) => (
  <div>
    <span className={classes('v num', isBad && 'bad')}>{formatNumber(value)}</span>
    <span className="soft">{word}</span>
  </div>
)
