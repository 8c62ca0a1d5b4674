package project_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/store"
)

func TestUpdate(t *testing.T) {
	f := newFixture(t)
	shop := f.make("Shop")
	f.make("Blog")
	for _, c := range []struct {
		name, who string
		in        project.UpdateInput
		want      []string
	}{
		{"stale", "member", project.UpdateInput{Name: "Store", ExpectedVersion: ptr(7)}, []string{"STALE_VERSION expectedVersion"}},
		{"taken", "member", project.UpdateInput{Name: "BLOG"}, []string{"NAME_TAKEN name"}},
		{"stale and taken", "member", project.UpdateInput{Name: "BLOG", ExpectedVersion: ptr(7)},
			[]string{"STALE_VERSION expectedVersion", "NAME_TAKEN name"}},
		{"a viewer", "viewer", project.UpdateInput{Name: "Store"}, []string{"FORBIDDEN projectId"}},
		{"an outsider", "outsider", project.UpdateInput{Name: "Store"}, []string{"NOT_FOUND projectId"}},
		{"an outsider's bad name", "outsider", project.UpdateInput{Name: " "}, []string{"NAME_INVALID name", "NOT_FOUND projectId"}},
		{"its own name", "member", project.UpdateInput{Name: "Shop", ExpectedVersion: ptr(1)}, nil},
		{"its own name in capitals", "member", project.UpdateInput{Name: "SHOP", ExpectedVersion: ptr(1)}, nil},
		{"whatever is there", "member", project.UpdateInput{Name: "Store"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.ProjectID = shop.ID
			p, err := f.Update(f.as(c.who), c.in)
			r := refused(t, err, c.want...)
			if c.want == nil {
				require.Equal(t, c.in.Name, p.Name)
			} else if r[0].Code == fault.StaleVersion {
				require.Equal(t, fault.StaleAt{Current: 1}, r[0].Detail)
			}
		})
	}
	got, err := f.Get(f.as("viewer"), shop.ID)
	require.NoError(t, err)
	require.Equal(t, 3, got.Version)
	require.Equal(t, "store", got.Slug)
	require.Equal(t, []string{"PROJECT_CREATED", "PROJECT_UPDATED", "PROJECT_UPDATED"}, f.events(shop.ID))
}

// Two projects that take one name at the same time, and two writers of one
// version: one of each wins.
func TestUpdateRaces(t *testing.T) {
	f := newFixture(t)
	a, b := f.make("a"), f.make("b")
	for round := range 50 {
		name := fmt.Sprint("n", round)
		errs := make([]error, 2)
		var group sync.WaitGroup
		for i, p := range []*project.Project{a, b} {
			group.Go(func() { _, errs[i] = f.Update(f.as("member"), project.UpdateInput{ProjectID: p.ID, Name: name}) })
		}
		group.Wait()
		require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v", errs)
		refused(t, errors.Join(errs...), "NAME_TAKEN name")

		now, err := f.Get(f.as("member"), a.ID)
		require.NoError(t, err)
		for i := range errs {
			group.Go(func() {
				_, errs[i] = f.Update(f.as("member"), project.UpdateInput{
					ProjectID: a.ID, Name: fmt.Sprint("v", round, "-", i), ExpectedVersion: &now.Version,
				})
			})
		}
		group.Wait()
		require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v", errs)
		refused(t, errors.Join(errs...), "STALE_VERSION expectedVersion")
	}
}

func TestDelete(t *testing.T) {
	f := newFixture(t)
	full, empty := f.make("full"), f.make("empty")
	var vms []ident.ID
	for i := range 27 {
		vms = append(vms, f.component(full, fmt.Sprint("vm", i)))
	}
	slices.Sort(vms) // ids of one millisecond are in no order
	f.exec(`INSERT INTO operation (id, team_id, project_id, kind, status, target_id, ancestors, urgent, simulated, run_after,
			created_at, finished_at)
		VALUES (?, ?, ?, 'DESTROY', 'SUCCEEDED', 'x', '{}', false, true, app_now(), app_now(), app_now())`,
		ident.New(ident.Operation), f.teamID, empty.ID)
	for _, c := range []struct {
		name, who string
		id        ident.ID
		version   *int
		want      []string
	}{
		{"a member", "member", empty.ID, nil, []string{"FORBIDDEN projectId"}},
		{"an outsider", "outsider", empty.ID, nil, []string{"NOT_FOUND projectId"}},
		{"stale", "admin", empty.ID, ptr(2), []string{"STALE_VERSION expectedVersion"}},
		{"in use", "admin", full.ID, nil, []string{"IN_USE projectId"}},
		{"in use and stale", "admin", full.ID, ptr(2), []string{"IN_USE projectId", "STALE_VERSION expectedVersion"}},
		{"empty", "admin", empty.ID, ptr(1), nil},
		{"gone", "admin", empty.ID, nil, []string{"NOT_FOUND projectId"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, err := f.Delete(f.as(c.who), project.DeleteInput{ProjectID: c.id, ExpectedVersion: c.version})
			for _, r := range refused(t, err, c.want...) {
				if r.Code == fault.InUse {
					require.Equal(t, fault.UsedBy{IDs: vms[:25]}, r.Detail)
				}
			}
			if c.want == nil {
				require.Equal(t, c.id, id)
			}
		})
	}
	require.Zero(t, f.count("SELECT count(*) FROM operation"))
	require.Empty(t, f.events(empty.ID))
	require.Equal(t, 1, f.count("SELECT count(*) FROM audit_event WHERE action = 'PROJECT_DELETED' AND object_id = ?", empty.ID))
}

// A component that is being added keeps its project, or finds it gone.
func TestDeleteRace(t *testing.T) {
	f := newFixture(t)
	for round := range 50 {
		p := f.make(fmt.Sprint("p", round))
		var deleted, added error
		var group sync.WaitGroup
		group.Go(func() { _, deleted = f.Delete(f.as("admin"), project.DeleteInput{ProjectID: p.ID}) })
		group.Go(func() {
			added = f.db.Gorm(t.Context()).Exec(`INSERT INTO component (id, team_id, project_id, kind, name, slug, created_at)
				VALUES (?, ?, ?, 'VIRTUAL_MACHINE', 'a', 'a', app_now())`, ident.New(ident.VM), p.TeamID, p.ID).Error
		})
		group.Wait()
		if deleted == nil {
			require.True(t, store.IsViolation(added, "component_project_id_fkey"), "%v", added)
			continue
		}
		require.NoError(t, added)
		refused(t, deleted, "IN_USE projectId")
	}
}
