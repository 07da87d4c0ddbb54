-- The people whom an API key or a service account stands for: the person who made it, in person or by a key. What binds
-- them binds it, so that nobody lifts a limit of their own by what they made. Nothing is known of rows from before.
alter table api_keys add column stands_for uuid[] not null default '{}';
alter table users add column stands_for uuid[] not null default '{}';
