package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// The kinds of streams: the part of a stream's name before the colon.
const (
	KindProject = "project"
	KindLog     = "log"
	KindAccess  = "access"
	KindToken   = "token"
)

// Wake says that a stream has reached a number.
type Wake struct {
	// Stream is the name that one of the …Stream functions makes.
	Stream string `json:"s"`
	// Seq is the newest number of the stream that the wake covers.
	Seq int64 `json:"n"`
	// From is the first number that it covers. 0 means Seq alone; a transaction
	// that took several numbers says where they begin, so that the hub can tell
	// a complete picture from one with a lost wake in it.
	From int64 `json:"f,omitempty"`
	// Topics are the objects that changed and those above them. None means all:
	// every subscription of the stream is woken.
	Topics []string `json:"t,omitempty"`
}

// first is the first number that the wake covers.
func (w Wake) first() int64 {
	if w.From > 0 && w.From < w.Seq {
		return w.From
	}
	return w.Seq
}

// ProjectStream names the events of a project; its number is the project's
// event sequence.
func ProjectStream[T ~string](projectID T) string { return KindProject + ":" + string(projectID) }

// LogStream names the log of a VM provider; its number is that of the newest line.
func LogStream[T ~string](providerID T) string { return KindLog + ":" + string(providerID) }

// AccessStream names what a user may do in a team; its number is the access
// version of the pair.
func AccessStream[T, U ~string](teamID T, userID U) string {
	return KindAccess + ":" + string(teamID) + "/" + string(userID)
}

// TokenStream names one access token; its number is the token's access version.
func TokenStream[T ~string](tokenID T) string { return KindToken + ":" + string(tokenID) }

// Heads answers the present numbers of streams in one go. A stream that does
// not exist, or no longer does, is left out. A partial answer may come together
// with an error: what was answered is used.
type Heads interface {
	Heads(ctx context.Context, streams []string) (map[string]int64, error)
}

// Source answers the heads of the streams of one kind, by what stands after the
// colon of their names.
type Source func(ctx context.Context, ids []string) (map[string]int64, error)

// Sources is a Heads made of one Source for each kind of stream.
type Sources map[string]Source

var _ Heads = Sources(nil)

// Heads asks each source for its own streams, one call for each kind. A source
// that fails does not keep the others from answering.
func (s Sources) Heads(ctx context.Context, streams []string) (map[string]int64, error) {
	byKind := make(map[string][]string)
	for _, stream := range streams {
		kind, id, _ := strings.Cut(stream, ":")
		byKind[kind] = append(byKind[kind], id)
	}
	heads := make(map[string]int64, len(streams))
	var errs []error
	for kind, ids := range byKind {
		source, ok := s[kind]
		if !ok {
			errs = append(errs, fmt.Errorf("no source of heads for streams of kind %q", kind))
			continue
		}
		found, err := source(ctx, ids)
		if err != nil {
			errs = append(errs, fmt.Errorf("heads of %s streams: %w", kind, err))
		}
		for id, seq := range found {
			heads[kind+":"+id] = seq
		}
	}
	return heads, errors.Join(errs...)
}
