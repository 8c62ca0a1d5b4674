package vm

import (
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

// verdict is what becomes of a wish to do something with a provider.
type verdict int

const (
	// accept: new work is started.
	accept verdict = iota
	// answerObject: it is so already; no new work, no error.
	answerObject
	// answerOperation: the operation under way does just that; it is answered.
	answerOperation
	// acceptAfterCancel: what runs is asked to end, and the work waits for it.
	acceptAfterCancel
	// busy: other work holds the provider.
	busy
	// wrongStatus: the status does not allow it.
	wrongStatus
)

// decision is a verdict with the operation that it is about, if any.
type decision struct {
	verdict verdict
	holder  ident.ID
	kind    operation.Kind
}

// admit decides what becomes of a wish to carry out kind on a provider in the
// status, while the holders hold or wait for it. It is pure: the table of
// domain rules "who may run beside whom" and the life cycle in one place.
func admit(kind operation.Kind, status Status, holders []operation.Holder, force bool) decision {
	if len(holders) == 0 {
		return decision{verdict: admitIdle(kind, status)}
	}
	// The newest claim decides: behind a running operation that is on its way out
	// there can wait the one that will follow it.
	last := holders[len(holders)-1]
	d := decision{holder: last.OperationID, kind: last.Kind}
	switch {
	case last.CancelRequested:
		d.verdict = busy
		if kind == operation.Destroy {
			d.verdict = acceptAfterCancel
		}
	case kind == operation.Destroy && last.Kind == operation.Destroy,
		kind == operation.Stop && last.Kind == operation.Stop,
		kind == operation.Start && (last.Kind == operation.Start || last.Kind == operation.Restart):
		d.verdict = answerOperation
	case kind == operation.Destroy,
		kind == operation.Stop && force && (last.Kind == operation.Start || last.Kind == operation.Restart):
		d.verdict = acceptAfterCancel
	default:
		d.verdict = busy
	}
	return d
}

// admitIdle decides when nothing holds the provider.
func admitIdle(kind operation.Kind, status Status) verdict {
	switch kind {
	case operation.Start:
		return oneOf(status, Stopped, Running)
	case operation.Stop:
		return oneOf(status, Running, Stopped)
	case operation.Restart:
		if status == Running {
			return accept
		}
	case operation.Destroy:
		if status == Deleted {
			return answerObject
		}
		return accept
	case operation.Provision:
		// A provision makes a provider of its own; only a retry comes here.
		if status == Failed {
			return accept
		}
	}
	return wrongStatus
}

// oneOf accepts from the one status, and answers the object in the other.
func oneOf(status, from, there Status) verdict {
	switch status {
	case from:
		return accept
	case there:
		return answerObject
	default:
		return wrongStatus
	}
}
