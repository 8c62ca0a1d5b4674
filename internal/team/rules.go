package team

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
)

const (
	// longestToken bounds the credentials of a simulated cloud, in bytes.
	longestToken = 4096
	// longestLife is how many years ahead a token may expire.
	longestLife = 1
)

func notFound(path []string, what string) fault.Refusals {
	return fault.Refuse(fault.NotFound, path, "there is no %s with this id that you can see; check the id", what)
}

func knownRole(r auth.Role, path []string) fault.Refusals {
	if r.AtLeast(auth.Viewer) {
		return nil
	}
	return fault.Refuse(fault.InputInvalid, path, "%q is no role: use VIEWER, MEMBER, ADMIN or OWNER", string(r))
}

// fullCeiling is the rule for making a team: its first owner must be able to own
// it with the token in use.
func fullCeiling(who auth.Actor) fault.Refusals {
	if who.Ceiling.AtLeast(auth.Owner) {
		return nil
	}
	return fault.Refuse(fault.Forbidden, fault.Input(),
		"to make a team you need a token with the ceiling OWNER, and that of the token in use is %s. Use another token.", who.Ceiling)
}

// lastOwner refuses to leave a team without an owner.
func lastOwner(path []string) fault.Refusals {
	return fault.Refuse(fault.NotAvailable, path,
		"this is the last owner of the team, and without one nobody could manage it. Make another member an owner first.")
}

// ceilingWithin keeps a token from making a mightier one.
func ceilingWithin(who auth.Actor, wanted auth.Role) fault.Refusals {
	if who.Ceiling.AtLeast(wanted) {
		return nil
	}
	return fault.Refuse(fault.Forbidden, fault.Input("ceiling"),
		"the token in use has the ceiling %s, so it cannot make one with %s. Ask for %s at most, or use another token.",
		who.Ceiling, wanted, who.Ceiling)
}

// expiry refuses a moment at which a token cannot stop working.
func expiry(at *time.Time, now time.Time) fault.Refusals {
	path := fault.Input("expiresAt")
	switch {
	case at == nil:
		return nil
	case !at.After(now):
		return fault.Refuse(fault.InputInvalid, path, "this moment has passed: a token expires in the future, or never (null)")
	case at.After(now.AddDate(longestLife, 0, 0)):
		return fault.Refuse(fault.InputInvalid, path, "this is more than a year ahead: a token expires within a year, or never (null)")
	}
	return nil
}

// form checks the credentials of an account: exactly one kind, in good form.
func (in *ConnectAccountInput) form() fault.Refusals {
	if in.Simulator == nil {
		return fault.Refuse(fault.InputInvalid, fault.Input(), "give the credentials of exactly one kind of cloud: simulator")
	}
	var refused fault.Refusals
	if len(in.Simulator.Token) > longestToken || !utf8.ValidString(in.Simulator.Token) {
		refused.Add(fault.InputInvalid, fault.Input("simulator", "token"), "a token is text of at most %d bytes", longestToken)
	}
	if f := in.Simulator.Fault; f != nil && !slices.Contains(SimulatorFaults(), *f) {
		refused.Add(fault.InputInvalid, fault.Input("simulator", "fault"), "%q is no fault of simulated clouds: use one of %v",
			string(*f), SimulatorFaults())
	}
	return refused
}

func accountNameTaken(name string) fault.Refusals {
	return fault.Refuse(fault.NameTaken, fault.Input("name"),
		"a cloud account of this team is called %q already, regardless of case; choose another name", name)
}

func credentialsRejected(path []string, said string) fault.Refusals {
	return fault.Refuse(fault.CredentialsRejected, path, "the cloud refuses these credentials%s. Check them with the cloud and pass new ones.",
		suffix(said))
}

func cloudUnavailable(said string) error {
	return fault.New(fault.Unavailable,
		"the cloud could not be asked whether the credentials are good%s. Nothing was stored; try again in a while.", suffix(said))
}

// suffix is what a cloud said, as the end of a sentence.
func suffix(said string) string {
	if said == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", said)
}
