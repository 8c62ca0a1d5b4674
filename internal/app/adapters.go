package app

import (
	"context"
	"errors"
	"time"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/syslog"
	"biztraak.dev/vm/internal/transport"
)

// announcer lets operations wake the hub. The hub needs the heads of streams,
// which the services answer, which need the announcer: so it is filled in last.
type announcer struct{ hub *hub.Hub }

// Announce implements operation.Announcer.
func (a *announcer) Announce(ctx context.Context, what []operation.Announcement) {
	wakes := make([]hub.Wake, len(what))
	for i, w := range what {
		wakes[i] = hub.Wake{Stream: w.Stream, From: w.From, Seq: w.Seq, Topics: w.Topics}
	}
	a.hub.Publish(ctx, wakes...)
}

// platformLog is what operations and VMs need of the logs: the platform's own
// lines, beside the steps they tell of, and the wish to follow a journal. It is
// filled in last, for the same reason as the announcer.
type platformLog struct{ logs *syslog.Store }

// AppendPlatform implements operation.PlatformLog.
func (p *platformLog) AppendPlatform(
	ctx context.Context, tx operation.SQLTx, providerID ident.ID, at time.Time, lines []string,
) (int64, error) {
	const notice = 5
	out := make([]syslog.Line, len(lines))
	for i, text := range lines {
		out[i] = syslog.Line{Time: at, Source: syslog.Platform, Unit: "biztraak", Priority: notice, Message: text}
	}
	return p.logs.AppendTx(ctx, tx, string(providerID), out)
}

// WantTx implements vm.JournalWish: it has the journal of a provider followed.
func (p *platformLog) WantTx(ctx context.Context, tx operation.SQLTx, providerID ident.ID, wanted bool) error {
	return p.logs.WantTx(ctx, tx, string(providerID), wanted)
}

// authenticator lets the edge check tokens.
type authenticator struct{ tokens *auth.Tokens }

// Authenticate implements transport.Authenticator.
func (a authenticator) Authenticate(ctx context.Context, bearer string) (transport.Identity, error) {
	actor, err := a.tokens.Authenticate(ctx, bearer)
	var refused *fault.Fault
	if errors.As(err, &refused) && refused.Code == fault.Unauthenticated {
		return transport.Identity{}, transport.ErrUnauthenticated
	}
	if err != nil {
		return transport.Identity{}, err
	}
	return transport.Identity{
		Context:   func(ctx context.Context) context.Context { return auth.WithActor(ctx, actor) },
		User:      string(actor.UserID),
		ExpiresAt: actor.ExpiresAt,
	}, nil
}
