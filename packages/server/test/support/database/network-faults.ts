import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** A connection through the network. While `held`, bytes of both directions wait in `waiting`. */
type Link = { client: Socket; server: Socket; held: boolean; waiting: (() => void)[]; isMarked: boolean }

/** A network between one replica and PostgreSQL, with faults that the test sets. */
export async function createNetwork(t: TestContext, databaseUrl: string) {
  const target = new URL(databaseUrl.replace('@/', '@socket/'))
  const folder = target.searchParams.get('host')
  const port = target.searchParams.get('port') ?? target.port ?? '5432'
  const links = new Set<Link>()
  let holdAt: { text: string; after: string | undefined } | undefined
  let delayMs = 0
  let refusing = false
  /** Number of statements that may still pass before every connection ends; undefined means no limit. */
  let left: number | undefined
  let ended = false
  let seen = 0
  const heldOnes: Link[] = []

  const forward = (link: Link, to: Socket, bytes: Buffer) => {
    const pass = () => void (to.destroyed || to.write(bytes))
    if (link.held) link.waiting.push(pass)
    else if (delayMs > 0) setTimeout(pass, delayMs)
    else pass()
  }
  const cut = () => {
    for (const { client, server: upstream } of links) {
      client.resetAndDestroy()
      upstream.destroy()
    }
  }
  const die = () => {
    left = undefined
    ended = true
    refusing = true
    cut()
  }
  const server = createServer((client) => {
    if (refusing) return void client.resetAndDestroy()
    seen++
    const upstream = folder ? connect(`${folder}/.s.PGSQL.${port}`) : connect(Number(port), target.hostname)
    const link: Link = { client, server: upstream, held: false, waiting: [], isMarked: false }
    links.add(link)
    client.on('data', (bytes) => {
      if (holdAt?.after !== undefined && bytes.includes(holdAt.after)) link.isMarked = true
      if (holdAt && bytes.includes(holdAt.text) && (link.isMarked || holdAt.after === undefined)) {
        holdAt = undefined
        link.held = true
        heldOnes.push(link)
      }
      if (left !== undefined && isStatement(bytes) && left-- <= 0) return die()
      forward(link, upstream, bytes)
    })
    upstream.on('data', (bytes) => forward(link, client, bytes))
    // While a connection is held, the end of one side is not passed on to the other.
    const end = (other: Socket) => () => {
      if (!link.held) other.destroy()
      if (client.destroyed && upstream.destroyed) links.delete(link)
    }
    client.on('close', end(upstream)).on('error', () => {})
    upstream.on('close', end(client)).on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address() as { port: number }
  const url = new URL(target)
  url.searchParams.delete('host')
  url.searchParams.delete('port')
  url.hostname = '127.0.0.1'
  url.port = String(address.port)

  const release = () => {
    for (const link of links) {
      link.held = false
      for (const pass of link.waiting.splice(0)) pass()
      if (link.client.destroyed) link.server.destroy()
      if (link.server.destroyed) link.client.destroy()
    }
  }
  t.after(() => {
    for (const { client, server: upstream } of links) {
      client.destroy()
      upstream.destroy()
    }
    server.close()
  })
  return {
    /** The database's URL through this network. */
    url: url.href,
    /** Connections made so far. */
    connections: () => seen,
    open: () => links.size,
    /**
     * Holds the next connection that sends this text (after the other text, if given), with that text and everything
     * that follows.
     */
    holdAt: (text: string, after?: string) => {
      for (const link of links) link.isMarked = false
      holdAt = { text, after }
    },
    isHolding: () => heldOnes.length > 0,
    /** Holds everything: a partition in which no side is told that the connection is broken. */
    hold: () => {
      for (const link of links) link.held = true
    },
    release,
    delay: (ms: number) => {
      delayMs = ms
    },
    /** Resets new connections while true. */
    refuse: (is: boolean) => {
      refusing = is
    },
    /** Resets every connection. */
    cut,
    /** After this number of statements (heartbeats are not counted) every connection ends and new ones are refused. */
    endBefore: (statements: number) => {
      left = statements
      ended = false
    },
    hasEnded: () => ended,
    mend: () => {
      left = undefined
      refusing = false
    },
  }
}
export type Network = Awaited<ReturnType<typeof createNetwork>>

/** True for a query or parse message that is no heartbeat of the change feed. */
function isStatement(bytes: Buffer): boolean {
  const kind = String.fromCharCode(bytes[0] ?? 0)
  return (
    (kind === 'Q' || kind === 'P') &&
    !/tenant_epochs e|execute heartbeat|pg_notify|clock_timestamp\(\)/.test(bytes.toString('latin1', 0, 400))
  )
}
