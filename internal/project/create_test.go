package project_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/project"
)

func TestCreate(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		name, who string
		in        project.CreateInput
		want      []string
	}{
		{"good", "member", project.CreateInput{Name: "Übung Eins"}, nil},
		{"name taken", "member", project.CreateInput{Name: "ÜBUNG eins"}, []string{"NAME_TAKEN name"}},
		{"a viewer", "viewer", project.CreateInput{Name: "x"}, []string{"FORBIDDEN teamId"}},
		{"the ceiling counts", "low", project.CreateInput{Name: "x"}, []string{"FORBIDDEN teamId"}},
		{"an outsider", "outsider", project.CreateInput{Name: "Übung Eins"}, []string{"NOT_FOUND teamId"}},
		{"all at once", "viewer", project.CreateInput{Name: "", IdempotencyKey: ptr("")},
			[]string{"NAME_INVALID name", "INPUT_INVALID idempotencyKey", "FORBIDDEN teamId"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.TeamID = f.teamID
			out, err := f.Create(f.as(c.who), c.in)
			refused(t, err, c.want...)
			if c.want != nil {
				return
			}
			p := out.Project
			require.Equal(t, project.Project{
				ID: p.ID, TeamID: f.teamID, Name: c.in.Name, Slug: "bung-eins", Version: 1, CreatedAt: p.CreatedAt, Role: auth.Member,
			}, *p)
			require.Equal(t, []string{"PROJECT_CREATED"}, f.events(p.ID))
		})
	}
	require.Equal(t, 1, f.count("SELECT count(*) FROM project"))
	_, err := f.Create(t.Context(), project.CreateInput{TeamID: f.teamID, Name: "x"})
	var needsActor *fault.Fault
	require.ErrorAs(t, err, &needsActor)
	require.Equal(t, fault.Unauthenticated, needsActor.Code)
}

// Two projects of one name at the same time: one is made, the other is told.
func TestCreateNameRace(t *testing.T) {
	f := newFixture(t)
	for round := range 50 {
		errs := make([]error, 2)
		var group sync.WaitGroup
		for i, name := range []string{"Shop", "shop"} {
			group.Go(func() {
				_, errs[i] = f.Create(f.as("member"), project.CreateInput{TeamID: f.teamID, Name: fmt.Sprint(name, round)})
			})
		}
		group.Wait()
		require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v", errs)
		refused(t, errors.Join(errs...), "NAME_TAKEN name")
	}
	require.Equal(t, 50, f.count("SELECT count(*) FROM project"))
}

func TestCreateReplay(t *testing.T) {
	f := newFixture(t)
	in := project.CreateInput{TeamID: f.teamID, Name: "Shop", IdempotencyKey: ptr("k")}
	const twins = 8
	results := make([]*project.Created, twins)
	var group sync.WaitGroup
	for i := range twins {
		group.Go(func() {
			if out, err := f.Create(f.as("member"), in); err == nil {
				results[i] = out
			}
		})
	}
	group.Wait()
	fresh := 0
	for _, r := range results {
		require.NotNil(t, r)
		require.Equal(t, results[0].Project.ID, r.Project.ID)
		if !r.Replayed {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	require.Equal(t, 1, f.count("SELECT count(*) FROM project"))
	require.Equal(t, []string{"PROJECT_CREATED"}, f.events(results[0].Project.ID))

	other := in
	other.Name = "Other"
	_, err := f.Create(f.as("member"), other)
	refused(t, err, "IDEMPOTENCY_KEY_REUSED idempotencyKey")
	// The answer is the project as it is now.
	_, err = f.Update(f.as("member"), project.UpdateInput{ProjectID: results[0].Project.ID, Name: "Renamed"})
	require.NoError(t, err)
	again, err := f.Create(f.as("member"), in)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, "Renamed", again.Project.Name)
	// A refusal is not remembered.
	taken := project.CreateInput{TeamID: f.teamID, Name: "Renamed", IdempotencyKey: ptr("k2")}
	_, err = f.Create(f.as("member"), taken)
	refused(t, err, "NAME_TAKEN name")
	_, err = f.Update(f.as("member"), project.UpdateInput{ProjectID: results[0].Project.ID, Name: "Shop"})
	require.NoError(t, err)
	late, err := f.Create(f.as("member"), taken)
	require.NoError(t, err)
	require.False(t, late.Replayed)
}
