-- What a gateway has not said of its load since it was started is null: a report that does not say it leaves it as it is,
-- and the statement need not look at the row before it writes.

alter table gateway_activity
  alter column active_sessions drop not null,
  alter column active_sessions drop default,
  alter column rx_bps drop not null,
  alter column rx_bps drop default,
  alter column tx_bps drop not null,
  alter column tx_bps drop default;
