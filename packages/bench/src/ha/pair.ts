import { type Backup, createPostgres, type Postgres } from '../deployment/postgres.ts'

export type Pair = Awaited<ReturnType<typeof startPair>>

/** A primary and its streaming standby, and the ways in which one takes the other's place. */
export async function startPair(isSynchronous: boolean) {
  let primary = await createPostgres()
  let standby: Postgres | undefined

  /** A standby from a new base backup; commits wait for it where that was asked for. */
  async function follow(): Promise<void> {
    const backup = await primary.backup()
    standby = await createPostgres({ backup, follow: primary })
    backup.remove()
    if (isSynchronous) await primary.requireStandby()
  }
  async function promote(): Promise<void> {
    if (!standby) throw new Error('there is no standby')
    const former = primary
    await standby.promote()
    primary = standby
    standby = undefined
    await primary.forgetStandby()
    await former.remove()
  }

  return {
    get primary() {
      return primary
    },
    follow,
    killAndPromote: async (): Promise<void> => {
      await primary.kill()
      await promote()
    },
    switchOver: async (): Promise<void> => {
      await primary.stop()
      await promote()
    },
    restartFast: async (): Promise<void> => {
      await primary.stop()
      await primary.start()
    },
    /** The primary as it was when the backup was taken; nothing else knows what came after. */
    setBack: async (backup: Backup): Promise<void> => {
      await standby?.remove()
      standby = undefined
      await primary.stop()
      const former = primary
      primary = await createPostgres({ backup })
      await primary.forgetStandby()
      await former.remove()
      backup.remove()
    },
    remove: async (): Promise<void> => {
      await standby?.remove()
      await primary.remove()
    },
  }
}
