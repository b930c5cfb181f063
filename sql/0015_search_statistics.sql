-- What PostgreSQL knows of the texts that `q` searches. From a small sample it may take a rare name for a frequent one, and then
-- reads an organization from its newest row on until it has a page, instead of asking the index.

alter index neoapi.broker_name alter column 2 set statistics 500;
alter index neoapi.property_q alter column 2 set statistics 500;
alter index neoapi.party_q alter column 2 set statistics 500;
