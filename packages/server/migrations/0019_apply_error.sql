-- Why a gateway does not enforce what it was given. The null of JSON: it said that nothing keeps it from it.

alter table gateway_activity add column apply_error jsonb;
