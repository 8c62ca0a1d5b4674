// Package migrations embeds the numbered SQL files that make the database.
// They go forward only; a change that a running older server cannot bear is
// made in two steps, expand and contract.
package migrations

import "embed"

// Files holds NNNNN_name.sql, in the goose format.
//
//go:embed *.sql
var Files embed.FS
