-- Dropping a month wants to be alone with its table and those that it refers to, and whoever comes after it waits behind
-- it. So it waits for hardly anybody itself; its job comes again.
alter function drop_partitions(text, integer) set lock_timeout = '500ms';
