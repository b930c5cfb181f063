// SPDX-License-Identifier: Apache-2.0
// The peer in Go: net/http and pgx in one process, which uses all processors that it is bound to. Prints "ready" when it listens.
//
//	peer {"host", "port", "user", "database", "listen"}
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/jackc/pgx/v4/pgxpool"
)

const maxConnections = 20 // as many as the two processes of the other peers have

func main() {
	var wanted struct {
		Host, User, Database string
		Port, Listen         int
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &wanted); err != nil {
		log.Fatal(err)
	}
	db, err := pgxpool.Connect(context.Background(), fmt.Sprintf("host=%s port=%d user=%s dbname=%s pool_max_conns=%d application_name=peer",
		wanted.Host, wanted.Port, wanted.User, wanted.Database, maxConnections))
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", wanted.Listen))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	log.Fatal(http.Serve(listener, newServer(db)))
}
