-- How a gateway's machine does, as it said last; and what gateways count of a session beside its bytes.
alter table gateway_activity add column system jsonb;
alter table vpn_sessions
  add column rx_packets bigint not null default 0,
  add column tx_packets bigint not null default 0,
  add column denied_packets bigint not null default 0,
  add column latest_handshake_at timestamptz,
  add column source_port integer;
