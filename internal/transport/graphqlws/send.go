package graphqlws

import (
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/transport/wire"
)

// next sends one result of op and blocks until the peer has taken it. The error
// is that of encoding; a failed write ends the connection, and with it the
// context of the operation, so its source stops by itself.
func (c *conn) next(op *operation, resp *graphql.Response) error {
	buf := c.buffers.get()
	defer c.buffers.put(buf)
	encoded, err := wire.AppendResponse(appendPayload(appendHead(*buf, "next", op.id)), resp)
	if err != nil {
		return err
	}
	*buf = append(encoded, '}')
	if !c.lockWriting() {
		return nil // the operation's context has ended with the connection
	}
	defer c.unlockWriting()
	if !op.ended.Load() {
		_ = c.writeLocked(*buf)
	}
	return nil
}

// end sends the last message of op, `error` if there are errors and `complete`
// else, and frees its id. Nothing is sent if the client has ended it before.
func (c *conn) end(op *operation, errs gqlerror.List) {
	buf := c.buffers.get()
	defer c.buffers.put(buf)
	kind := typeComplete
	if len(errs) > 0 {
		kind = "error"
	}
	*buf = appendHead(*buf, kind, op.id)
	if len(errs) > 0 {
		encoded, err := wire.AppendErrors(appendPayload(*buf), wire.Bound(errs))
		if err != nil {
			// Bound leaves only what can be encoded.
			encoded = append(appendPayload(*buf), `[{"message":"internal error"}]`...)
		}
		*buf = encoded
	}
	*buf = append(*buf, '}')
	if !c.lockWriting() {
		return
	}
	defer c.unlockWriting()
	if op.ended.CompareAndSwap(false, true) {
		// The id must be free before the peer can have read that it is.
		c.forget(op)
		_ = c.writeLocked(*buf)
	}
}
