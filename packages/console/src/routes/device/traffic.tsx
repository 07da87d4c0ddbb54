import { formatBytes, formatNumber } from '../../ui/format.ts'

type Props = { rx_bytes: number; tx_bytes: number; denied_packets: number }

/** Traffic from the gateway's view: received bytes are "in", sent bytes are "out". */
export const Traffic = ({ rx_bytes, tx_bytes, denied_packets }: Props) => (
  <span className="num">
    {formatBytes(rx_bytes)} in, {formatBytes(tx_bytes)} out · {formatNumber(denied_packets)} denied packets
  </span>
)
