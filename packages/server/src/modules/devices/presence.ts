import { onlineSeconds } from '@holdfast/contract/devices'
import { second } from '../../kernel/time.ts'

/** A device seen at this time or later is online. */
export const onlineSince = (at: Date) => new Date(at.getTime() - onlineSeconds * second)
