// SPDX-License-Identifier: Apache-2.0
// What the server does around a request: credentials, scopes, limits, problem documents.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

const (
	rateWindow = time.Minute
	cachedFor  = time.Minute
	digits     = "0123456789abcdefghjkmnpqrstvwxyz"
)

// newID returns an id in the API's format: a prefix, the time as ten base32 digits, and sixteen random digits.
func newID(prefix string) string {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		panic(err)
	}
	id := append(make([]byte, 0, 30), prefix...)
	for now, shift := time.Now().UnixMilli(), 45; shift >= 0; shift -= 5 {
		id = append(id, digits[now>>shift&31])
	}
	for _, b := range random {
		id = append(id, digits[b&31])
	}
	return string(id)
}

// ---------------------------------------------------------------- problem documents

type fieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
	Code    string `json:"code"`
}

type problem struct {
	Type       string       `json:"type"`
	Title      string       `json:"title"`
	Status     int          `json:"status"`
	Detail     string       `json:"detail"`
	Code       string       `json:"code"`
	Instance   string       `json:"instance"`
	RequestID  string       `json:"request_id"`
	Timestamp  string       `json:"timestamp"`
	RetryAfter int          `json:"retry_after,omitempty"`
	Errors     []fieldError `json:"errors,omitempty"`
}

func (p *problem) Error() string { return p.Detail }

var titles = map[int][2]string{400: {"validation", "Validation Failed"}, 401: {"unauthorized", "Authentication Required"},
	403: {"forbidden", "Access Denied"}, 404: {"not_found", "Resource Not Found"}, 409: {"conflict", "Resource Conflict"},
	429: {"rate_limit", "Rate Limit Exceeded"}, 500: {"internal", "Internal Server Error"}}

func refuse(status int, code, detail string) *problem {
	return &problem{Status: status, Code: code, Detail: detail}
}

func noBroker() *problem { return refuse(404, "not_found.broker", "There is no such broker.") }

func (r *request) sendProblem(err error) {
	p, ok := err.(*problem)
	if !ok {
		log.Print(err)
		p = refuse(500, "internal.failed", "Something unexpected happened.")
	}
	p.Type, p.Title = titles[p.Status][0], titles[p.Status][1]
	p.Instance, p.RequestID, p.Timestamp = r.URL.RequestURI(), r.id, stamp(time.Now())
	r.send(p.Status, "application/problem+json", encode(p))
}

// ---------------------------------------------------------------- credentials and limits

type principal struct {
	id, tenant, organization string
	scopes                   map[string]bool
	max                      int
	until                    time.Time
}

type window struct {
	count int
	end   time.Time
}

type access struct {
	db      *pgxpool.Pool
	mutex   sync.Mutex
	known   map[[sha256.Size]byte]*principal
	windows map[string]*window
}

// authenticate looks credentials up by the hash of the secret, at most once a minute each.
func (a *access) authenticate(ctx context.Context, secret string) (*principal, error) {
	if secret == "" {
		return nil, refuse(401, "unauthorized.auth_required", "The header X-API-Key is missing.")
	}
	hash := sha256.Sum256([]byte(secret))
	a.mutex.Lock()
	found := a.known[hash]
	a.mutex.Unlock()
	if found != nil && time.Now().Before(found.until) {
		return found, nil
	}
	var scopes []string
	found = &principal{scopes: map[string]bool{}, until: time.Now().Add(cachedFor)}
	err := a.db.QueryRow(ctx, "select id, tenant_id, organization_id, scopes, max_requests from peer.api_key where hash = $1 and revoked_at is null",
		hash[:]).Scan(&found.id, &found.tenant, &found.organization, &scopes, &found.max)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, refuse(401, "unauthorized.invalid_credentials", "The credential is not valid.")
	}
	if err != nil {
		return nil, err
	}
	for _, scope := range scopes {
		found.scopes[scope] = true
	}
	a.mutex.Lock()
	a.known[hash] = found
	a.mutex.Unlock()
	return found, nil
}

// limit counts the requests of a key in windows, and sets the headers.
func (a *access) limit(p *principal, headers http.Header) error {
	now := time.Now()
	a.mutex.Lock()
	w := a.windows[p.id]
	if w == nil || !now.Before(w.end) {
		w = &window{end: now.Add(rateWindow)}
		a.windows[p.id] = w
	}
	w.count++
	count, rest := w.count, w.end.Sub(now)
	a.mutex.Unlock()
	seconds, remaining := int((rest+time.Second-1)/time.Second), p.max-count
	if remaining < 0 {
		remaining = 0
	}
	headers["X-Ratelimit-Limit"] = []string{strconv.Itoa(p.max)}
	headers["X-Ratelimit-Remaining"] = []string{strconv.Itoa(remaining)}
	headers["X-Ratelimit-Reset"] = []string{strconv.Itoa(seconds)}
	if count > p.max {
		exceeded := refuse(429, "rate_limit.exceeded", "Too many requests.")
		exceeded.RetryAfter = seconds
		return exceeded
	}
	return nil
}

func (p *principal) checkScope(scope string) error {
	if !p.scopes[scope] {
		return refuse(403, "forbidden.insufficient_permissions", fmt.Sprintf("The scope %s is needed.", scope))
	}
	return nil
}
