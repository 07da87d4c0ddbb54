import { type Backup, createPostgres, type Postgres } from '../deployment/postgres.ts'
import { startTcpProxy, type TcpProxy } from '../deployment/tcp-proxy.ts'

export type Pair = Awaited<ReturnType<typeof startPair>>

/** A primary and its streaming standby, with the ways of failing over. */
export async function startPair(isSynchronous: boolean) {
  let primary = await createPostgres()
  let standby: Postgres | undefined
  /** The proxy through which the standby reaches the primary. */
  let stream: TcpProxy | undefined
  /** Servers that were replaced; they are removed before the next standby starts, or at the end. */
  const former: Postgres[] = []

  /** Creates a standby from a new base backup. In synchronous mode, commits wait for it. */
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
    // WAL in transit to the standby is lost.
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
    /** Commits from now on do not reach the standby. */
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
    /** Replaces the primary by its state in the backup; all later writes are lost. */
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
