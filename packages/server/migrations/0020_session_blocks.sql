-- Until when the gateways of its pool refuse the device of a session that an administrator has ended.
alter table vpn_sessions add column block_until timestamptz;
