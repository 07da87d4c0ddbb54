-- What the machine of a device is, as the device says at enrollment or renewal; null: it did not say.
alter table devices add column arch text;
