-- Representations are put together as text. To leave out what has no value, json_strip_nulls reads again the JSON that was just written,
-- which took more than half of a trigger's time. What is inside of a column of JSON is without nulls and spaces: so the module writes it.
--
-- The expression for a member has no value where its column has none, and concat_ws takes only those that have one, up to 99 of them.

create or replace function neoapi.broker_represent() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"name":' || to_json(new.name),
        '"creci":' || to_json(new.creci),
        '"document_number":' || to_json(new.document_number),
        '"email":' || to_json(new.email),
        '"phone":' || to_json(new.phone),
        '"bank_account":' || new.bank_account,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"visibility":' || to_json(new.visibility),
        '"created_at":"' || neoapi.instant(new.created_at) || '"',
        '"updated_at":"' || neoapi.instant(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;

create or replace function neoapi.property_represent() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"code":' || to_json(new.code),
        '"title":' || to_json(new.title),
        '"description":' || to_json(new.description),
        '"transaction_type":' || to_json(new.transaction_type),
        '"usage_type":' || to_json(new.usage_type),
        '"property_type":' || to_json(new.property_type),
        '"status":' || to_json(new.status),
        '"sale_price":' || new.sale_price,
        '"rent_price":' || new.rent_price,
        '"condo_fee":' || new.condo_fee,
        '"iptu_amount":' || new.iptu_amount,
        '"iptu_period":' || to_json(new.iptu_period),
        '"address":' || new.address,
        '"address_display":' || to_json(new.address_display),
        '"private_area":' || new.private_area,
        '"total_area":' || new.total_area,
        '"lot_area":' || new.lot_area,
        '"bedrooms":' || new.bedrooms,
        '"suites":' || new.suites,
        '"bathrooms":' || new.bathrooms,
        '"parking_spaces":' || new.parking_spaces,
        '"floor":' || new.floor,
        '"year_built":' || new.year_built,
        '"registry":' || new.registry,
        '"owners":' || new.owners,
        '"broker_id":' || to_json(new.broker_id),
        '"exclusive":' || new.exclusive,
        '"exclusive_until":' || to_json(new.exclusive_until),
        '"accepts_financing":' || new.accepts_financing,
        '"accepts_fgts":' || new.accepts_fgts,
        '"accepts_exchange":' || new.accepts_exchange,
        '"features":' || new.features,
        '"media":' || new.media,
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":"' || neoapi.instant(new.created_at) || '"',
        '"updated_at":"' || neoapi.instant(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;

create or replace function neoapi.party_represent() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"kind":' || to_json(new.kind),
        '"name":' || to_json(new.name),
        '"trade_name":' || to_json(new.trade_name),
        '"roles":' || to_json(new.roles),
        '"document_number":' || to_json(new.document_number),
        '"rg":' || new.rg,
        '"email":' || to_json(new.email),
        '"phone":' || to_json(new.phone),
        '"birth_date":' || to_json(new.birth_date),
        '"nationality":' || to_json(new.nationality),
        '"profession":' || to_json(new.profession),
        '"marital_status":' || to_json(new.marital_status),
        '"property_regime":' || to_json(new.property_regime),
        '"spouse_party_id":' || to_json(new.spouse_party_id),
        '"address":' || new.address,
        '"bank_account":' || new.bank_account,
        '"legal_representatives":' || new.legal_representatives,
        '"broker_id":' || to_json(new.broker_id),
        '"lgpd_consent_at":"' || neoapi.instant(new.lgpd_consent_at) || '"',
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":"' || neoapi.instant(new.created_at) || '"',
        '"updated_at":"' || neoapi.instant(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;

create or replace function neoapi.proposal_represent() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"kind":' || to_json(new.kind),
        '"property_id":' || to_json(new.property_id),
        '"proponent_ids":' || new.proponent_ids,
        '"recipient_ids":' || new.recipient_ids,
        '"broker_id":' || to_json(new.broker_id),
        '"amount":' || new.amount,
        '"payment_terms":' || new.payment_terms,
        '"rental_terms":' || new.rental_terms,
        '"valid_until":' || to_json(new.valid_until),
        '"notes":' || to_json(new.notes),
        '"status":' || to_json(new.status),
        '"decision_reason":' || to_json(new.decision_reason),
        '"decided_at":"' || neoapi.instant(new.decided_at) || '"',
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":"' || neoapi.instant(new.created_at) || '"',
        '"updated_at":"' || neoapi.instant(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;

create or replace function neoapi.contract_represent() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"kind":' || to_json(new.kind),
        '"number":' || to_json(new.number),
        '"property_id":' || to_json(new.property_id),
        '"proposal_id":' || to_json(new.proposal_id),
        '"parties":' || new.parties,
        '"amount":' || new.amount,
        '"start_date":' || to_json(new.start_date),
        '"end_date":' || to_json(new.end_date),
        '"payment_day":' || new.payment_day,
        '"adjustment_index":' || to_json(new.adjustment_index),
        '"guarantee":' || new.guarantee,
        '"commission":' || new.commission,
        '"management_fee_bps":' || new.management_fee_bps,
        '"notes":' || to_json(new.notes),
        '"status":' || to_json(new.status),
        '"signed_at":"' || neoapi.instant(new.signed_at) || '"',
        '"terminated_at":"' || neoapi.instant(new.terminated_at) || '"',
        '"termination_reason":' || to_json(new.termination_reason),
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":"' || neoapi.instant(new.created_at) || '"',
        '"updated_at":"' || neoapi.instant(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;

create or replace function neoapi.document_represent() returns trigger language plpgsql as $$
begin
    new.representation := '{' || concat_ws(',',
        '"id":' || to_json(new.id),
        '"kind":' || to_json(new.kind),
        '"title":' || to_json(new.title),
        '"related":' || new.related,
        '"file":' || new.file,
        '"number":' || to_json(new.number),
        '"issuer":' || to_json(new.issuer),
        '"issued_at":"' || neoapi.instant(new.issued_at) || '"',
        '"expires_at":"' || neoapi.instant(new.expires_at) || '"',
        '"status":' || to_json(new.status),
        '"external_id":' || to_json(new.external_id),
        '"metadata":' || new.metadata,
        '"tenant_id":' || to_json(new.tenant_id),
        '"organization_id":' || to_json(new.organization_id),
        '"created_at":"' || neoapi.instant(new.created_at) || '"',
        '"updated_at":"' || neoapi.instant(new.updated_at) || '"',
        '"created_by":' || to_json(new.created_by),
        '"updated_by":' || to_json(new.updated_by)) || '}';
    return new;
end $$;
