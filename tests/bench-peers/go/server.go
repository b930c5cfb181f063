// SPDX-License-Identifier: Apache-2.0
// The peer's routes.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v4/pgxpool"
)

const (
	base    = "/public/v1"
	maxBody = 1 << 20
)

var keyPattern = regexp.MustCompile(`(?i)^"?([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"?$`)

type request struct {
	*http.Request
	answer    http.ResponseWriter
	id        string
	principal *principal
}

type server struct {
	access
	store
	context context.Context // not the request's: pgx closes a connection when the client of its query leaves
}

func newServer(db *pgxpool.Pool) *server {
	return &server{access{db: db, known: map[[32]byte]*principal{}, windows: map[string]*window{}}, store{db}, context.Background()}
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func (r *request) send(status int, kind string, body []byte) {
	headers := r.answer.Header()
	headers["Content-Type"] = []string{kind}
	headers["Content-Length"] = []string{strconv.Itoa(len(body))}
	r.answer.WriteHeader(status)
	r.answer.Write(body) // an error means that the client is gone
}

func (s *server) ServeHTTP(w http.ResponseWriter, original *http.Request) {
	r := &request{Request: original, answer: w, id: newID("req_")}
	w.Header()["X-Request-Id"] = []string{r.id}
	if err := s.serve(r); err != nil {
		r.sendProblem(err)
	}
}

func (s *server) serve(r *request) (err error) {
	if r.principal, err = s.authenticate(s.context, r.Header.Get("X-API-Key")); err != nil {
		return err
	}
	if err = s.limit(r.principal, r.answer.Header()); err != nil {
		return err
	}
	path, scope := strings.TrimPrefix(r.URL.Path, base+"/brokers"), "brokers:write"
	if r.Method == http.MethodGet {
		scope = "brokers:read"
	}
	route := s.route(r.Method, path)
	if route == nil || len(path) == len(r.URL.Path) {
		return refuse(404, "not_found.route", "No such path.")
	}
	if err = r.principal.checkScope(scope); err != nil {
		return err
	}
	return route(r, strings.TrimPrefix(path, "/"))
}

func (s *server) route(method, path string) func(*request, string) error {
	switch {
	case method == http.MethodGet && path == "":
		return s.getPage
	case method == http.MethodGet:
		return s.getOne
	case method == http.MethodPost && path == "":
		return s.postOne
	case method == http.MethodPost && path == "/batch":
		return s.postBatch
	case method == http.MethodPatch:
		return s.patchOne
	}
	return nil
}

// ---------------------------------------------------------------- reads

func (s *server) getOne(r *request, id string) error {
	if !isBrokerID(id) {
		return noBroker()
	}
	found, err := s.read(s.context, r.principal, id)
	if err != nil {
		return err
	}
	body, hash := encode(found), fnv.New64a()
	hash.Write(body)
	tag := fmt.Sprintf(`"%x"`, hash.Sum64())
	r.answer.Header()["Etag"] = []string{tag}
	if r.Header.Get("If-None-Match") == tag {
		r.answer.WriteHeader(http.StatusNotModified)
		return nil
	}
	r.send(200, "application/json", body)
	return nil
}

func (s *server) getPage(r *request, _ string) error {
	query, limit, before := r.URL.Query(), 25, ""
	for name := range query {
		if name != "limit" && name != "cursor" {
			return invalid(fieldError{name, "is not known", "validation.failed"})
		}
	}
	if text := query.Get("limit"); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || number > 100 {
			return invalid(fieldError{"limit", "must be from 1 to 100", "validation.failed"})
		}
		limit = number
	}
	if text := query.Get("cursor"); text != "" {
		if before = idOfCursor(text); before == "" {
			return refuse(400, "validation.cursor_invalid", "The cursor is not valid.")
		}
	}
	found, err := s.readPage(s.context, r.principal, limit, before)
	if err != nil {
		return err
	}
	if found.Info.HasNext {
		next := url.Values{"cursor": {*found.Info.End}, "limit": {strconv.Itoa(limit)}}.Encode()
		r.answer.Header()["Link"] = []string{fmt.Sprintf(`<http://%s%s/brokers?%s>; rel="next"`, r.Host, base, next)}
	}
	r.send(200, "application/json", encode(found))
	return nil
}

// ---------------------------------------------------------------- writes

func decode(r *request, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(r.answer, r.Body, maxBody))
	if err != nil {
		return refuse(400, "validation.failed", "The body cannot be read.")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err = decoder.Decode(into); err != nil || decoder.More() {
		return invalid(fieldError{"body", "is not valid", "validation.failed"})
	}
	return nil
}

func (s *server) postOne(r *request, _ string) error {
	var data input
	header := r.Header.Get("Idempotency-Key")
	match := keyPattern.FindStringSubmatch(header)
	if header != "" && match == nil {
		return refuse(400, "validation.idempotency_key_invalid", "Idempotency-Key must be a UUID v4.")
	}
	if err := decode(r, &data); err != nil {
		return err
	}
	if err := data.check(); err != nil {
		return err
	}
	row := newBroker(r.principal, &data)
	if match == nil {
		if err := s.create(s.context, row, r.id); err != nil {
			return err
		}
		r.send(201, "application/json", encode(row))
		return nil
	}
	stored, isRepeated, err := s.createWithKey(s.context, row, r.principal, strings.ToLower(match[1]), encode(data), r.id)
	if err != nil {
		return err
	}
	if isRepeated {
		r.answer.Header()["Idempotency-Replayed"] = []string{"true"}
	}
	r.send(201, "application/json", stored)
	return nil
}

func (s *server) postBatch(r *request, _ string) error {
	var wanted struct {
		Operations []struct {
			Method string `json:"method"`
			Data   *input `json:"data"`
		} `json:"operations"`
	}
	if err := decode(r, &wanted); err != nil {
		return err
	}
	if len(wanted.Operations) < 1 || len(wanted.Operations) > 100 {
		return invalid(fieldError{"operations", "must have 1 to 100 elements", "validation.failed"})
	}
	rows := make([]*broker, len(wanted.Operations))
	for i, operation := range wanted.Operations {
		if operation.Method != "create" || operation.Data == nil {
			return invalid(fieldError{fmt.Sprintf("operations[%d]", i), "must be a create", "validation.failed"})
		}
		if err := operation.Data.check(); err != nil {
			return err
		}
		rows[i] = newBroker(r.principal, operation.Data)
	}
	results, err := s.batch(s.context, rows, r.id)
	if err != nil {
		return err
	}
	r.send(200, "application/json", encode(results))
	return nil
}

func (s *server) patchOne(r *request, id string) error {
	var patch patch
	if !isBrokerID(id) {
		return noBroker()
	}
	if err := decode(r, &patch); err != nil {
		return err
	}
	changed, err := s.update(s.context, r.principal, id, patch, r.id)
	if err != nil {
		return err
	}
	r.send(200, "application/json", encode(changed))
	return nil
}
