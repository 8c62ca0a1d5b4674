// Package ident makes and reads the opaque ids of everything the API names.
//
// An id is `<prefix>_<26 characters>`: a short prefix for its kind and a UUIDv7
// (RFC 9562) in lower-case base32 (RFC 4648, "extended hex" alphabet, no
// padding), so ids sort by the time they were made and carry their kind. The
// same text is stored in PostgreSQL, in a column with COLLATE "C".
//
// The package is a leaf: it knows no domain and imports only the standard
// library.
package ident

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Kind is the prefix of an id: what sort of thing it names.
type Kind string

// The kinds of things that have an id.
const (
	User         Kind = "user"
	Team         Kind = "team"
	Token        Kind = "tok"
	Invitation   Kind = "inv"
	Account      Kind = "acc"
	Domain       Kind = "dom"
	Project      Kind = "prj"
	VM           Kind = "vm"
	Provider     Kind = "vmp"
	Workload     Kind = "wl"
	Runtime      Kind = "wlr"
	Deployment   Kind = "dep"
	Operation    Kind = "op"
	Template     Kind = "tpl"
	AddOn        Kind = "addon"
	Package      Kind = "pkg"
	Session      Kind = "bs"
	Reassignment Kind = "rea"
	Audit        Kind = "aud"
)

var kinds = map[Kind]bool{
	User: true, Team: true, Token: true, Invitation: true, Account: true, Domain: true,
	Project: true, VM: true, Provider: true, Workload: true, Runtime: true, Deployment: true,
	Operation: true, Template: true, AddOn: true, Package: true, Session: true,
	Reassignment: true, Audit: true,
}

// encodedLen is the length of 16 bytes in unpadded base32.
const encodedLen = 26

var encoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// ID names one thing. The zero value names nothing.
type ID string

// lastTick is the newest tick that was given out, so that ids of one process are
// in the order in which they were made: lists are ordered by id.
var lastTick atomic.Uint64

// ticksPerMilli is how finely the twelve bits after the milliseconds divide them
// (RFC 9562, 6.2, method 3).
const ticksPerMilli = 4096

// tick is the present in 1/4096 milliseconds, and more than any tick before.
func tick() uint64 {
	now := time.Now()
	part := uint64(now.Nanosecond()%int(time.Millisecond)) * ticksPerMilli / uint64(time.Millisecond)
	t := uint64(now.UnixMilli())*ticksPerMilli + part // a date after 1970 is positive
	for {
		last := lastTick.Load()
		t = max(t, last+1)
		if lastTick.CompareAndSwap(last, t) {
			return t
		}
	}
}

// New makes an id of the kind for the present moment. It panics if the system
// has no randomness, in which case nothing else is safe either.
func New(kind Kind) ID {
	var u [16]byte
	if _, err := rand.Read(u[8:]); err != nil {
		panic("ident: no randomness: " + err.Error())
	}
	t := tick()
	binary.BigEndian.PutUint64(u[:8], t/ticksPerMilli<<16|7<<12|t%ticksPerMilli) // version 7
	u[8] = u[8]&0x3f | 0x80                                                      // RFC 9562 variant
	return ID(string(kind) + "_" + encoding.EncodeToString(u[:]))
}

// Parse checks that text is a well-formed id of any known kind. Whether the
// thing exists is another question, which only its owner can answer.
func Parse(text string) (ID, error) {
	prefix, rest, ok := strings.Cut(text, "_")
	if !ok || !kinds[Kind(prefix)] || len(rest) != encodedLen {
		return "", malformed(text)
	}
	var u [16]byte
	if n, err := encoding.Decode(u[:], []byte(rest)); err != nil || n != len(u) {
		return "", malformed(text)
	}
	// The last character carries two unused bits: only one spelling is an id.
	if encoding.EncodeToString(u[:]) != rest {
		return "", malformed(text)
	}
	return ID(text), nil
}

func malformed(text string) error {
	const shown = 40
	if len(text) > shown {
		text = text[:shown] + "…"
	}
	return fmt.Errorf("%q is not an id: an id looks like %s", strings.ToValidUTF8(text, "?"), "vm_<26 characters>")
}

// Kind tells what sort of thing the id names; empty for the zero value.
func (id ID) Kind() Kind {
	prefix, _, _ := strings.Cut(string(id), "_")
	return Kind(prefix)
}

// MarshalGQL writes the id as a GraphQL ID.
func (id ID) MarshalGQL(w io.Writer) {
	_, _ = io.WriteString(w, strconv.Quote(string(id))) // the response writer reports its own errors
}

// UnmarshalGQL reads a GraphQL ID; a malformed one is refused before any
// resolver sees it.
func (id *ID) UnmarshalGQL(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("an id is a string, not %T", v)
	}
	parsed, err := Parse(text)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}
