// SPDX-License-Identifier: Apache-2.0
// Brokers: their fields, validation, and the parts of them in events.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"
)

type bankAccount struct {
	BankCode      *string `json:"bank_code,omitempty"`
	BankName      *string `json:"bank_name,omitempty"`
	Agency        *string `json:"agency,omitempty"`
	AccountNumber *string `json:"account_number,omitempty"`
	AccountType   *string `json:"account_type,omitempty"`
	PixKey        *string `json:"pix_key,omitempty"`
}

// input is what a client can set.
type input struct {
	Name           *string        `json:"name,omitempty"`
	Creci          *string        `json:"creci,omitempty"`
	DocumentNumber *string        `json:"document_number,omitempty"`
	Email          *string        `json:"email,omitempty"`
	Phone          *string        `json:"phone,omitempty"`
	BankAccount    *bankAccount   `json:"bank_account,omitempty"`
	ExternalID     *string        `json:"external_id,omitempty"`
	Metadata       map[string]any `json:"metadata,omitempty"`
	Visibility     *string        `json:"visibility,omitempty"`
}

// millis is a time with the API's precision and format.
type millis struct{ time.Time }

func (m millis) MarshalJSON() ([]byte, error) { return []byte(`"` + stamp(m.Time) + `"`), nil }

type broker struct {
	ID string `json:"id"`
	input
	Tenant       string `json:"tenant_id"`
	Organization string `json:"organization_id"`
	CreatedAt    millis `json:"created_at"`
	UpdatedAt    millis `json:"updated_at"`
	CreatedBy    string `json:"created_by"`
	UpdatedBy    string `json:"updated_by"`
}

// payload is the part of a broker in events.
type payload struct {
	ID        string  `json:"id"`
	Name      *string `json:"name,omitempty"`
	Creci     *string `json:"creci,omitempty"`
	Email     *string `json:"email,omitempty"`
	CreatedAt millis  `json:"created_at"`
	UpdatedAt millis  `json:"updated_at"`
}

func (b *broker) payload() string {
	return string(encode(payload{b.ID, b.Name, b.Creci, b.Email, b.CreatedAt, b.UpdatedAt}))
}

func newBroker(p *principal, data *input) *broker {
	now := millis{time.Now().Truncate(time.Millisecond)}
	return &broker{newID("brk_"), *data, p.tenant, p.organization, now, now, p.id, p.id}
}

func (b *broker) creciKey() *string {
	if b.Creci == nil {
		return nil
	}
	key := strings.Map(func(c rune) rune {
		switch {
		case c >= '0' && c <= '9' || c >= 'A' && c <= 'Z':
			return c
		case c >= 'a' && c <= 'z':
			return c - 'a' + 'A'
		}
		return -1
	}, *b.Creci)
	return &key
}

// jsonOrNil is the value of a column jsonb: nil, or a text.
func jsonOrNil(value any, isNil bool) any {
	if isNil {
		return nil
	}
	return string(encode(value))
}

func (b *broker) account() any { return jsonOrNil(b.BankAccount, b.BankAccount == nil) }
func (b *broker) meta() any    { return jsonOrNil(b.Metadata, b.Metadata == nil) }

// ---------------------------------------------------------------- validation

func invalid(errors ...fieldError) *problem {
	p := refuse(400, "validation.failed", "The request is not valid.")
	p.Errors = errors
	return p
}

func isBrokerID(id string) bool {
	if len(id) != 30 || id[:4] != "brk_" {
		return false
	}
	for i := 4; i < len(id); i++ {
		if strings.IndexByte(digits, id[i]) < 0 {
			return false
		}
	}
	return true
}

func hasAlphanumeric(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return c >= '0' && c <= '9' || c|32 >= 'a' && c|32 <= 'z' }) >= 0
}

func isEmail(text string) bool {
	address, err := mail.ParseAddress(text)
	return err == nil && address.Address == text
}

func isAccountType(text string) bool { return text == "checking" || text == "savings" }

func isVisibility(text string) bool {
	return text == "private" || text == "restricted" || text == "public"
}

// check validates, and sets what has a default.
func (data *input) check() error {
	var errors []fieldError
	if data.Visibility == nil {
		restricted := "restricted"
		data.Visibility = &restricted
	}
	check := func(name string, value *string, max int, rule func(string) bool) {
		if value == nil {
			return
		}
		if length := utf8.RuneCountInString(*value); length < 1 || length > max || rule != nil && !rule(*value) {
			errors = append(errors, fieldError{name, "is not valid", "validation.failed"})
		}
	}
	if data.Name == nil {
		errors = append(errors, fieldError{"name", "is required", "validation.broker.name_required"})
	}
	check("name", data.Name, 200, nil)
	check("creci", data.Creci, 32, hasAlphanumeric)
	check("document_number", data.DocumentNumber, 32, nil)
	check("email", data.Email, 254, isEmail)
	check("phone", data.Phone, 32, nil)
	check("external_id", data.ExternalID, 200, nil)
	check("visibility", data.Visibility, 10, isVisibility)
	if account := data.BankAccount; account != nil {
		check("bank_account.bank_code", account.BankCode, 10, nil)
		check("bank_account.bank_name", account.BankName, 100, nil)
		check("bank_account.agency", account.Agency, 20, nil)
		check("bank_account.account_number", account.AccountNumber, 30, nil)
		check("bank_account.account_type", account.AccountType, 10, isAccountType)
		check("bank_account.pix_key", account.PixKey, 100, nil)
	}
	if errors != nil {
		return invalid(errors...)
	}
	return nil
}

// ---------------------------------------------------------------- patches

// patch is a merge patch (RFC 7396): JSON of each member, where null removes it.
type patch map[string]json.RawMessage

// apply merges the patch. It decodes into the existing values, so that members that the patch does not have stay.
func (p patch) apply(old *input) (*input, error) {
	text, merged := encode(p), &input{}
	if err := json.Unmarshal(encode(old), merged); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(merged); err != nil {
		return nil, invalid(fieldError{"body", "is not valid", "validation.failed"})
	}
	for name, value := range merged.Metadata {
		if value == nil {
			delete(merged.Metadata, name)
		}
	}
	return merged, merged.check()
}

// ---------------------------------------------------------------- cursors

func cursorOf(id string) *string {
	cursor := base64.RawURLEncoding.EncodeToString(encode([]any{id, time.Now().Add(24 * time.Hour).UnixMilli()}))
	return &cursor
}

// idOfCursor returns "" if the cursor is invalid or expired.
func idOfCursor(cursor string) string {
	var id string
	var until int64
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(text, &[]any{&id, &until}) != nil || until < time.Now().UnixMilli() {
		return ""
	}
	return id
}
