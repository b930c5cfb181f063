-- Deliveries are found by their subscription: whoever looks for one knows it, or finds it. So one index does for two, and each event writes an
-- entry less.
--
-- What it costs to apply: it builds the index of the whole history, some four seconds for a million deliveries on a small machine. Until
-- that is done whoever writes an event waits, and so does whoever sends or reads one. An older module goes on working, but looks longer for
-- each delivery the more its organization has of that day: start the new one soon.
drop index neoapi.webhook_delivery_of_subscription;
alter table neoapi.webhook_delivery drop constraint webhook_delivery_pkey, add primary key (organization_id, subscription_id, id);
