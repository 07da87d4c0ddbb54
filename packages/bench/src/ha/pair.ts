import { type Backup, createPostgres, type Postgres } from '../deployment/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../deployment/tcp-proxy.ts'

export type Pair = Awaited<ReturnType<typeof startPair>>

/** A primary and its streaming standby, and the ways in which one takes the other's place. */
export async function startPair(isSynchronous: boolean) {
  let primary = await createPostgres()
  let standby: Postgres | undefined
  /** By which the standby reaches the primary. */
  let stream: TcpProxy | undefined
  /** Those whose place was taken; tidied up when there is time. */
  const former: Postgres[] = []

  /** A standby from a new base backup; commits wait for it where that was asked for. */
  async function follow(): Promise<void> {
    if (standby) former.push(standby)
    standby = undefined
    for (const each of former.splice(0)) await each.remove()
    await stream?.close()
    const backup = await primary.backup()
    stream = await startTcpProxy(primary.port)
    standby = await createPostgres({ backup, follow: stream })
    backup.remove()
    if (isSynchronous) await primary.requireStandby()
  }
  async function promote(): Promise<void> {
    if (!standby) throw new Error('there is no standby')
    // What was under way to it goes nowhere.
    await stream?.close()
    stream = undefined
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
    /** What is committed from now on does not reach the standby. */
    holdBack: (): void => stream?.hold(),
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
      await stream?.close()
      for (const each of [...former.splice(0), ...(standby ? [standby] : []), primary]) await each.remove()
    },
  }
}
