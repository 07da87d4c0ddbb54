-- The secret that a webhook had before: for a day it signs beside the new one. What is over counts no more, whoever
-- still has to forget it. Sealed in the place of credential_jwe, from where it is moved as it is.
alter table siem_connectors
  add column previous_credential_jwe text,
  add column previous_until timestamptz,
  add constraint siem_previous_secret_has_an_end check ((previous_credential_jwe is null) = (previous_until is null));
