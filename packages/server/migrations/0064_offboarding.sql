-- Enrollment tokens end with their user, and are found by the user.
create index enrollment_tokens_by_user on enrollment_tokens (tenant_id, user_id)
  where user_id is not null and revoked_at is null;

-- Who left a directory, or one of its groups, within a window, and who came: only users who are gone of those who were
-- there as it began count against its bounds. The rows go when the next window of the same begins.
create table directory_window_moves (
  tenant_id uuid not null,
  directory_id uuid not null,
  group_id uuid not null,
  user_id uuid not null,
  came boolean not null,
  primary key (tenant_id, directory_id, group_id, user_id),
  foreign key (tenant_id, directory_id) references directories
);
call raise_tenant_wall('directory_window_moves');

-- Two accounts of a person may have one mail address: nothing signs in by it, and a policy that names it needs one user.
drop index email_is_unique_in_its_tenant;
