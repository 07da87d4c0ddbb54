import { type Backup, createPostgres, type Postgres } from '../deployment/postgres.ts'

export type Pair = Awaited<ReturnType<typeof startPair>>

/** A primary and its streaming standby, and the ways in which one takes the other's place. */
export async function startPair(isSynchronous: boolean) {
  let primary = await createPostgres()
  let standby: Postgres | undefined
  /** Those whose place was taken; tidied up when there is time. */
  const former: Postgres[] = []

  /** A standby from a new base backup; commits wait for it where that was asked for. */
  async function follow(): Promise<void> {
    if (standby) former.push(standby)
    standby = undefined
    for (const each of former.splice(0)) await each.remove()
    const backup = await primary.backup()
    standby = await createPostgres({ backup, follow: primary })
    backup.remove()
    if (isSynchronous) await primary.requireStandby()
  }
  async function promote(): Promise<void> {
    if (!standby) throw new Error('there is no standby')
    await standby.promote()
    former.push(primary)
    primary = standby
    standby = undefined
    await primary.forgetStandby()
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
      if (standby) former.push(standby)
      standby = undefined
      await primary.stop()
      former.push(primary)
      primary = await createPostgres({ backup })
      await primary.forgetStandby()
      backup.remove()
    },
    remove: async (): Promise<void> => {
      for (const each of [...former.splice(0), ...(standby ? [standby] : []), primary]) await each.remove()
    },
  }
}
