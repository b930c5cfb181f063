// SPDX-License-Identifier: Apache-2.0
// The peer's statements. Those of a write are sent together, and are one transaction.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

const (
	created = "broker.created"
	updated = "broker.updated"

	columns = `id, name, creci, document_number, email, phone, bank_account, external_id, metadata, visibility, tenant_id, organization_id,
		created_at, updated_at, created_by, updated_by`
	selectBroker = "select " + columns + " from peer.broker where organization_id = $1 and id = $2"
	selectFirst  = "select " + columns + " from peer.broker where organization_id = $1 order by id desc limit $2"
	selectNext   = "select " + columns + " from peer.broker where organization_id = $1 and id < $3 order by id desc limit $2"

	insertBroker = "insert into peer.broker (" + columns + `, creci_key)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`
	updateBroker = `update peer.broker set name = $3, creci = $4, creci_key = $5, document_number = $6, email = $7, phone = $8, bank_account = $9,
		external_id = $10, metadata = $11, visibility = $12, updated_at = $13, updated_by = $14 where organization_id = $1 and id = $2`
	insertEvent = `insert into peer.event (organization_id, id, type, resource_id, created_at, actor, request_id, payload, changed, previous)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
	insertDeliveries = `insert into peer.webhook_delivery (organization_id, subscription_id, event_id)
		select organization_id, id, $2 from peer.webhook_subscription where organization_id = $1 and is_active and $3 = any (events)`
	insertKey = `insert into peer.idempotency_key (key_id, key, request_hash, status, response_body, expires_at)
		values ($1, $2, $3, 201, $4, now() + interval '1 day') on conflict do nothing returning true`
	selectKey = "select request_hash, response_body from peer.idempotency_key where key_id = $1 and key = $2"

	insertBatch = `with made as (
			insert into peer.broker (` + columns + `, creci_key)
			select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::jsonb[], $8::text[], $9::jsonb[],
				$10::text[], $11::text[], $12::text[], $13::timestamptz[], $14::timestamptz[], $15::text[], $16::text[], $17::text[])
			on conflict do nothing returning id),
		logged as (
			insert into peer.event (organization_id, id, type, resource_id, created_at, actor, request_id, payload)
			select $22, e.id, $20, e.resource_id, e.created_at, $23, $21, e.payload
			from unnest($18::text[], $1::text[], $13::timestamptz[], $19::jsonb[]) as e (id, resource_id, created_at, payload)
			where e.resource_id in (select id from made) returning organization_id, id),
		queued as (
			insert into peer.webhook_delivery (organization_id, subscription_id, event_id)
			select s.organization_id, s.id, l.id from logged l join peer.webhook_subscription s using (organization_id)
			where s.is_active and $20 = any (s.events))
		select id from made`
)

type store struct{ db *pgxpool.Pool }

type page struct {
	Items []*broker `json:"items"`
	Info  struct {
		Start       *string `json:"start_cursor"`
		End         *string `json:"end_cursor"`
		HasNext     bool    `json:"has_next_page"`
		HasPrevious bool    `json:"has_previous_page"`
	} `json:"page_info"`
}

func scan(row pgx.Row) (*broker, error) {
	b := &broker{}
	err := row.Scan(&b.ID, &b.Name, &b.Creci, &b.DocumentNumber, &b.Email, &b.Phone, &b.BankAccount, &b.ExternalID, &b.Metadata, &b.Visibility,
		&b.Tenant, &b.Organization, &b.CreatedAt.Time, &b.UpdatedAt.Time, &b.CreatedBy, &b.UpdatedBy)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, noBroker()
	}
	return b, err
}

func (s *store) read(ctx context.Context, p *principal, id string) (*broker, error) {
	return scan(s.db.QueryRow(ctx, selectBroker, p.organization, id))
}

func (s *store) readPage(ctx context.Context, p *principal, limit int, before string) (*page, error) {
	sql, values := selectFirst, []any{p.organization, limit + 1}
	if before != "" {
		sql, values = selectNext, append(values, before)
	}
	rows, err := s.db.Query(ctx, sql, values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := &page{Items: make([]*broker, 0, limit+1)}
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		found.Items = append(found.Items, one)
	}
	if len(found.Items) > limit {
		found.Items, found.Info.HasNext = found.Items[:limit], true
	}
	found.Info.HasPrevious = before != ""
	if last := len(found.Items) - 1; last >= 0 {
		found.Info.Start, found.Info.End = cursorOf(found.Items[0].ID), cursorOf(found.Items[last].ID)
	}
	return found, rows.Err()
}

// ---------------------------------------------------------------- writes

func asProblem(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "23505" {
		return refuse(409, "conflict.duplicate", "There is such a broker already.")
	}
	return err
}

// queueEvent adds the event and its deliveries. `previous` and `changed` are nil for a create.
func queueEvent(batch *pgx.Batch, kind string, b *broker, requestID string, changed []string, previous any) {
	event := newID("evt_")
	batch.Queue(insertEvent, b.Organization, event, kind, b.ID, b.UpdatedAt.Time, b.UpdatedBy, requestID, b.payload(), changed, previous)
	batch.Queue(insertDeliveries, b.Organization, event, kind)
}

func queueCreate(batch *pgx.Batch, b *broker, requestID string) {
	batch.Queue(insertBroker, b.ID, b.Name, b.Creci, b.DocumentNumber, b.Email, b.Phone, b.account(), b.ExternalID, b.meta(), b.Visibility,
		b.Tenant, b.Organization, b.CreatedAt.Time, b.UpdatedAt.Time, b.CreatedBy, b.UpdatedBy, b.creciKey())
	queueEvent(batch, created, b, requestID, nil, nil)
}

// create sends all statements before one Sync message, so that they are a transaction in a single round trip.
func (s *store) create(ctx context.Context, b *broker, requestID string) error {
	batch := &pgx.Batch{}
	queueCreate(batch, b, requestID)
	return asProblem(s.db.SendBatch(ctx, batch).Close())
}

// createWithKey writes the key's row first: another request with the key waits for this transaction, and then finds its response.
func (s *store) createWithKey(ctx context.Context, b *broker, p *principal, key string, data []byte, requestID string) ([]byte, bool, error) {
	hash, text := sha256.Sum256(data), encode(b)
	var isRepeated bool
	err := s.db.BeginFunc(ctx, func(tx pgx.Tx) error {
		var made bool
		err := tx.QueryRow(ctx, insertKey, p.id, key, hash[:], string(text)).Scan(&made)
		if err == nil {
			batch := &pgx.Batch{}
			queueCreate(batch, b, requestID)
			return asProblem(tx.SendBatch(ctx, batch).Close())
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		var old []byte
		var stored string
		if err = tx.QueryRow(ctx, selectKey, p.id, key).Scan(&old, &stored); err != nil {
			return err
		}
		if !bytes.Equal(old, hash[:]) {
			return refuse(409, "conflict.idempotency_key_reused", "The key was used with another request.")
		}
		text, isRepeated = []byte(stored), true
		return nil
	})
	return text, isRepeated, err
}

// update locks the row, merges the patch and writes what has changed, with its former values in the event.
func (s *store) update(ctx context.Context, p *principal, id string, patch patch, requestID string) (b *broker, err error) {
	err = s.db.BeginFunc(ctx, func(tx pgx.Tx) error {
		if b, err = scan(tx.QueryRow(ctx, selectBroker+" for no key update", p.organization, id)); err != nil {
			return err
		}
		merged, err := patch.apply(&b.input)
		if err != nil {
			return err
		}
		changed, previous := differences(&b.input, merged)
		if len(changed) == 0 {
			return nil
		}
		now := time.Now().Truncate(time.Millisecond)
		if next := b.UpdatedAt.Add(time.Millisecond); now.Before(next) {
			now = next
		}
		b.input, b.UpdatedAt, b.UpdatedBy = *merged, millis{now}, p.id
		batch := &pgx.Batch{}
		batch.Queue(updateBroker, b.Organization, b.ID, b.Name, b.Creci, b.creciKey(), b.DocumentNumber, b.Email, b.Phone, b.account(), b.ExternalID,
			b.meta(), b.Visibility, now, p.id)
		queueEvent(batch, updated, b, requestID, changed, string(encode(previous)))
		return asProblem(tx.SendBatch(ctx, batch).Close())
	})
	return b, err
}

// differences returns the names of the changed fields, and the former values of those in events.
func differences(before, after *input) (changed []string, previous map[string]*string) {
	previous = map[string]*string{}
	compare := func(name string, one, other any) bool {
		if bytes.Equal(encode(one), encode(other)) {
			return false
		}
		changed = append(changed, name)
		return true
	}
	if compare("name", before.Name, after.Name) {
		previous["name"] = before.Name
	}
	if compare("creci", before.Creci, after.Creci) {
		previous["creci"] = before.Creci
	}
	compare("document_number", before.DocumentNumber, after.DocumentNumber)
	if compare("email", before.Email, after.Email) {
		previous["email"] = before.Email
	}
	compare("phone", before.Phone, after.Phone)
	compare("bank_account", before.BankAccount, after.BankAccount)
	compare("external_id", before.ExternalID, after.ExternalID)
	compare("metadata", before.Metadata, after.Metadata)
	compare("visibility", before.Visibility, after.Visibility)
	return changed, previous
}

// ---------------------------------------------------------------- batches

type result struct {
	Index    int     `json:"index"`
	Status   int     `json:"status"`
	Resource *broker `json:"resource,omitempty"`
}

type results struct {
	Succeeded int      `json:"succeeded"`
	Failed    int      `json:"failed"`
	Results   []result `json:"results"`
}

// batch writes all of them in one statement, which skips those that exist.
func (s *store) batch(ctx context.Context, brokers []*broker, requestID string) (*results, error) {
	arrays := make([][]any, 19)
	for _, b := range brokers {
		for i, value := range []any{b.ID, b.Name, b.Creci, b.DocumentNumber, b.Email, b.Phone, b.account(), b.ExternalID, b.meta(), b.Visibility,
			b.Tenant, b.Organization, b.CreatedAt.Time, b.UpdatedAt.Time, b.CreatedBy, b.UpdatedBy, b.creciKey(), newID("evt_"), b.payload()} {
			arrays[i] = append(arrays[i], value)
		}
	}
	values := make([]any, 0, 23)
	for i, array := range arrays {
		values = append(values, typedArray(i, array))
	}
	rows, err := s.db.Query(ctx, insertBatch, append(values, created, requestID, brokers[0].Organization, brokers[0].CreatedBy)...)
	if err != nil {
		return nil, asProblem(err)
	}
	made := map[string]bool{}
	for rows.Next() {
		var id string
		if err = rows.Scan(&id); err != nil {
			return nil, err
		}
		made[id] = true
	}
	if rows.Err() != nil {
		return nil, asProblem(rows.Err())
	}
	answer := &results{Succeeded: len(made), Failed: len(brokers) - len(made), Results: make([]result, len(brokers))}
	for i, b := range brokers {
		answer.Results[i] = result{i, 409, nil}
		if made[b.ID] {
			answer.Results[i] = result{i, 201, b}
		}
	}
	return answer, nil
}

// typedArray is the array of a column as pgx encodes it: times, or texts that can be null.
func typedArray(column int, values []any) any {
	if column == 12 || column == 13 {
		times := make([]time.Time, len(values))
		for i, value := range values {
			times[i] = value.(time.Time)
		}
		return times
	}
	texts := make([]*string, len(values))
	for i, value := range values {
		switch text := value.(type) {
		case string:
			texts[i] = &text
		case *string:
			texts[i] = text
		}
	}
	return texts
}
