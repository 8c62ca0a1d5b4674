package team_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/team"
)

func newDriver() *driver {
	return &driver{Simulator: simulator.New(simulator.NewMemoryStore(), simulator.Options{})}
}

func simulated(token string) *team.SimulatorInput { return &team.SimulatorInput{Token: token} }

func TestConnectAccount(t *testing.T) {
	d := newDriver()
	f := newFixture(t, d)
	member, oz := f.user("member", auth.Member, auth.Owner), f.user("oz", "", auth.Owner)
	low := f.user("low", auth.Admin, auth.Member)
	for _, c := range []struct {
		name  string
		who   auth.Actor
		in    team.ConnectAccountInput
		want  []string
		calls int
	}{
		{"good", f.owner, team.ConnectAccountInput{Name: "Lab", Simulator: simulated("s3cret")}, nil, 1},
		{"with a fault", f.owner, team.ConnectAccountInput{Name: "Slow",
			Simulator: &team.SimulatorInput{Token: "x", Fault: ptr(team.FaultSlowBoot)}}, nil, 1},
		{"name taken", f.owner, team.ConnectAccountInput{Name: "lAB", Simulator: simulated("x")}, []string{"NAME_TAKEN name"}, 1},
		{"rejected", f.owner, team.ConnectAccountInput{Name: "New", Simulator: simulated("reject")},
			[]string{"CREDENTIALS_REJECTED simulator"}, 1},
		{"rejected and taken", f.owner, team.ConnectAccountInput{Name: "Lab", Simulator: simulated("reject")},
			[]string{"CREDENTIALS_REJECTED simulator", "NAME_TAKEN name"}, 1},
		{"no kind", f.owner, team.ConnectAccountInput{Name: "New"}, []string{"INPUT_INVALID "}, 0},
		{"unknown fault", f.owner, team.ConnectAccountInput{Name: "New", Simulator: &team.SimulatorInput{Fault: ptr(team.SimulatorFault("FIRE"))}},
			[]string{"INPUT_INVALID simulator.fault"}, 0},
		{"endless token", f.owner, team.ConnectAccountInput{Name: "New", Simulator: simulated(strings.Repeat("x", 5000))},
			[]string{"INPUT_INVALID simulator.token"}, 0},
		{"a member may not", member, team.ConnectAccountInput{Name: "New", Simulator: simulated("x")}, []string{"FORBIDDEN teamId"}, 0},
		{"the ceiling counts", low, team.ConnectAccountInput{Name: "New", Simulator: simulated("x")}, []string{"FORBIDDEN teamId"}, 0},
		{"an outsider sees nothing", oz, team.ConnectAccountInput{Name: "Lab", Simulator: simulated("x")}, []string{"NOT_FOUND teamId"}, 0},
		{"all at once", member, team.ConnectAccountInput{Name: "", IdempotencyKey: ptr("")},
			[]string{"NAME_INVALID name", "INPUT_INVALID idempotencyKey", "INPUT_INVALID ", "FORBIDDEN teamId"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.calls = 0
			c.in.TeamID = f.teamID
			out, err := f.ConnectAccount(f.as(c.who), c.in)
			refused(t, err, c.want...)
			require.Equal(t, c.calls, d.calls)
			if c.want != nil {
				return
			}
			a := out.CloudAccount
			require.Equal(t, team.Account{
				ID: a.ID, TeamID: f.teamID, Name: c.in.Name, Kind: "SIMULATOR", Simulated: true, Version: 1, CreatedAt: a.CreatedAt,
			}, *a)
			require.Equal(t, 1, f.audited("ACCOUNT_CONNECTED", a.ID))
			kind, unsealed, err := f.DriverAccount(t.Context(), a.ID)
			require.NoError(t, err)
			require.Equal(t, provider.KindSimulator, kind)
			require.Equal(t, string(a.ID), unsealed.ID)
			require.Equal(t, c.in.Simulator.Token, string(unsealed.Credentials.Reveal()))
			if c.in.Simulator.Fault != nil {
				require.Equal(t, map[string]string{"fault": "slow-boot"}, unsealed.Settings)
			}
		})
	}
	for _, table := range []string{"cloud_account", "audit_event", "idempotency_key"} {
		require.Zero(t, f.count("SELECT count(*) FROM "+table+" x WHERE x::text LIKE '%s3cret%'"), table)
	}
}

// Every fault of the API is one that the simulator knows.
func TestSimulatorFaults(t *testing.T) {
	f := newFixture(t)
	for i, x := range team.SimulatorFaults() {
		out, err := f.ConnectAccount(f.as(f.owner), team.ConnectAccountInput{
			TeamID: f.teamID, Name: fmt.Sprint("a", i), Simulator: &team.SimulatorInput{Fault: &x},
		})
		require.NoError(t, err, x)
		_, account, err := f.DriverAccount(t.Context(), out.CloudAccount.ID)
		require.NoError(t, err)
		require.Contains(t, simulator.Faults(), simulator.Fault(account.Settings[simulator.SettingFault]))
	}
}

func TestConnectAccountWhenTheCloudIsAway(t *testing.T) {
	d := newDriver()
	f := newFixture(t, d)
	in := team.ConnectAccountInput{TeamID: f.teamID, Name: "Lab", Simulator: simulated("x"), IdempotencyKey: ptr("k")}
	for _, err := range []error{
		&provider.Error{Class: provider.ClassRetryAfter, Message: "too many requests"},
		&provider.Error{Class: provider.ClassUnclear, Message: "no answer", Err: context.DeadlineExceeded},
		errors.New("dial tcp 10.0.0.1: refused"),
	} {
		d.verify = func(ctx context.Context, _ provider.Account) error {
			_, bounded := ctx.Deadline()
			require.True(t, bounded)
			return err
		}
		_, got := f.ConnectAccount(f.as(f.owner), in)
		faulted(t, got, fault.Unavailable)
		require.NotContains(t, got.Error(), "10.0.0.1")
	}
	require.Zero(t, f.count("SELECT count(*) FROM cloud_account"))
	d.verify = nil
	out, err := f.ConnectAccount(f.as(f.owner), in)
	require.NoError(t, err)
	require.False(t, out.Replayed, "a failure is not remembered")
}

func TestConnectAccountReplay(t *testing.T) {
	d := newDriver()
	f := newFixture(t, d)
	in := team.ConnectAccountInput{TeamID: f.teamID, Name: "Lab", Simulator: simulated("one"), IdempotencyKey: ptr("k")}
	const twins = 6
	ids := make([]ident.ID, twins)
	fresh := make([]bool, twins)
	var group sync.WaitGroup
	for i := range twins {
		group.Go(func() {
			if out, err := f.ConnectAccount(f.as(f.owner), in); err == nil {
				ids[i], fresh[i] = out.CloudAccount.ID, !out.Replayed
			}
		})
	}
	group.Wait()
	made := 0
	for i := range twins {
		require.Equal(t, ids[0], ids[i])
		require.NotEmpty(t, ids[i])
		if fresh[i] {
			made++
		}
	}
	require.Equal(t, 1, made)

	d.verify = func(context.Context, provider.Account) error {
		return &provider.Error{Class: provider.ClassCredentials}
	}
	out, err := f.ConnectAccount(f.as(f.owner), in)
	require.NoError(t, err, "a replay does not ask the cloud")
	require.True(t, out.Replayed)
	for name, change := range map[string]func(*team.ConnectAccountInput){
		"another token": func(in *team.ConnectAccountInput) { in.Simulator = simulated("two") },
		"another name":  func(in *team.ConnectAccountInput) { in.Name = "Other" },
		"another fault": func(in *team.ConnectAccountInput) {
			in.Simulator = &team.SimulatorInput{Token: "one", Fault: ptr(team.FaultLost)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			other := in
			change(&other)
			_, err := f.ConnectAccount(f.as(f.owner), other)
			refused(t, err, "IDEMPOTENCY_KEY_REUSED idempotencyKey")
		})
	}
}

// Two accounts of one name at the same time: one is made, the other is told.
func TestConnectAccountNameRace(t *testing.T) {
	f := newFixture(t)
	for round := range 50 {
		errs := make([]error, 2)
		var group sync.WaitGroup
		for i, name := range []string{"Lab", "lab"} {
			group.Go(func() {
				_, errs[i] = f.ConnectAccount(f.as(f.owner), team.ConnectAccountInput{
					TeamID: f.teamID, Name: fmt.Sprint(name, round), Simulator: simulated("x"),
				})
			})
		}
		group.Wait()
		require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v", errs)
		refused(t, errors.Join(errs...), "NAME_TAKEN name")
	}
}

// Who loses the right while the cloud is being asked stores nothing.
func TestConnectAccountRightIsCheckedAgain(t *testing.T) {
	d := newDriver()
	f := newFixture(t, d)
	admin := f.user("admin", auth.Admin, auth.Owner)
	for _, c := range []struct {
		name, sql string
		want      string
	}{
		{"lowered", "UPDATE team_member SET role = 'MEMBER' WHERE user_id = ?", "FORBIDDEN teamId"},
		{"removed", "DELETE FROM team_member WHERE user_id = ?", "NOT_FOUND teamId"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.exec("UPDATE team_member SET role = 'ADMIN' WHERE user_id = ?", admin.UserID)
			d.verify = func(context.Context, provider.Account) error {
				f.exec(c.sql, admin.UserID)
				return nil
			}
			_, err := f.ConnectAccount(f.as(admin), team.ConnectAccountInput{TeamID: f.teamID, Name: "Lab", Simulator: simulated("x")})
			refused(t, err, c.want)
			require.Zero(t, f.count("SELECT count(*) FROM cloud_account"))
		})
	}
}

func TestConnectAccountWithoutDriver(t *testing.T) {
	f := newFixture(t, otherDriver{newDriver()})
	_, err := f.ConnectAccount(f.as(f.owner), team.ConnectAccountInput{TeamID: f.teamID, Name: "Lab", Simulator: simulated("x")})
	refused(t, err, "INPUT_INVALID simulator")
	require.ErrorContains(t, err, "OTHER")
}

// otherDriver is the only driver of an installation without simulated clouds.
type otherDriver struct{ *driver }

func (otherDriver) Kind() provider.Kind { return "OTHER" }

func TestAccountReads(t *testing.T) {
	f := newFixture(t)
	var made []ident.ID
	for i := range 3 {
		out, err := f.ConnectAccount(f.as(f.owner), team.ConnectAccountInput{
			TeamID: f.teamID, Name: fmt.Sprint("a", i), Simulator: simulated("x"),
		})
		require.NoError(t, err)
		made = append(made, out.CloudAccount.ID)
	}
	slices.Sort(made) // ids of one millisecond are in no order
	bob, oz := f.user("bob", auth.Viewer, auth.Viewer), f.user("oz", "", auth.Owner)

	got, err := f.Accounts(f.as(bob), []ident.ID{made[2], ident.New(ident.Account), made[0]})
	require.NoError(t, err)
	require.Equal(t, made[2], got[0].ID)
	require.Nil(t, got[1])
	require.Equal(t, made[0], got[2].ID)
	hidden, err := f.Account(f.as(oz), made[0])
	require.NoError(t, err)
	require.Nil(t, hidden)

	pages, err := f.AccountsOf(f.as(bob), []ident.ID{f.teamID}, page.Args{Last: ptr(2)})
	require.NoError(t, err)
	require.Equal(t, made[1], pages[0].Items[0].ID)
	require.Equal(t, made[2], pages[0].Items[1].ID)
	require.True(t, pages[0].HasPrevious)
	counts, err := f.CountAccountsOf(f.as(bob), []ident.ID{f.teamID})
	require.NoError(t, err)
	require.Equal(t, []int{3}, counts)
	pages, err = f.AccountsOf(f.as(oz), []ident.ID{f.teamID}, page.Args{})
	require.NoError(t, err)
	require.Empty(t, pages[0].Items)

	_, _, err = f.DriverAccount(t.Context(), ident.New(ident.Account))
	require.ErrorIs(t, err, team.ErrNoAccount)
	// A row that was given another's secret stays shut.
	f.exec("UPDATE cloud_account SET sealed = (SELECT sealed FROM cloud_account WHERE id = ?) WHERE id = ?", made[1], made[0])
	_, _, err = f.DriverAccount(t.Context(), made[0])
	require.Error(t, err)
}
