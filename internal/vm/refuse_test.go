package vm_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/vm"
)

func TestCreateRefusesAllAtOnce(t *testing.T) {
	w := newWorld(t)
	taken := w.vm("taken")
	name := query[string](w, "SELECT upper(name) FROM component WHERE id = ?", taken)
	addOn := query[ident.ID](w, "SELECT id FROM catalog_item WHERE slug = 'terminal'")
	managed := query[ident.ID](w, "SELECT id FROM catalog_item WHERE slug = 'managed-deploy'")
	viewer, stranger := w.user("vic", auth.Viewer), w.user("sam", "")
	for _, c := range []struct {
		name string
		who  auth.Actor
		in   vm.CreateInput
		want []string
	}{
		{"everything is wrong", w.who, vm.CreateInput{
			ProjectID: ident.New(ident.Project), Name: " x\n", TemplateID: addOn, AddOnIDs: []ident.ID{addOn, addOn, ident.New(ident.AddOn)},
			Resources:      &vm.ResourcesInput{CPU: ptr(int64(0)), Memory: ptr(int64(-5)), Disk: ptr(int64(1) << 62)},
			IdempotencyKey: ptr(""),
		}, []string{
			"NAME_INVALID name", "NAME_INVALID name", "INPUT_INVALID idempotencyKey", "INPUT_INVALID resources.cpu", "INPUT_INVALID resources.memory",
			"INPUT_INVALID resources.disk", "NOT_FOUND projectId", "NOT_FOUND templateId", "INPUT_INVALID addOnIds.1", "NOT_FOUND addOnIds.2",
		}},
		{"less than the template needs", w.who, vm.CreateInput{
			ProjectID: w.project, Name: "small", TemplateID: w.template,
			Resources: &vm.ResourcesInput{CPU: ptr(int64(1)), Memory: ptr(int64(1)), Disk: ptr(int64(1))},
		}, []string{"RESOURCES_TOO_SMALL resources.cpu", "RESOURCES_TOO_SMALL resources.memory", "RESOURCES_TOO_SMALL resources.disk"}},
		{"an add-on that needs another", w.who, vm.CreateInput{
			ProjectID: w.project, Name: "lacks", TemplateID: w.template, AddOnIDs: []ident.ID{managed},
			Resources: &vm.ResourcesInput{CPU: ptr(int64(1))},
		}, []string{"ADD_ON_REQUIRES addOnIds.0", "RESOURCES_TOO_SMALL resources.cpu"}},
		{"a name that is taken in other letters", w.who, vm.CreateInput{ProjectID: w.project, Name: name, TemplateID: w.template},
			[]string{"NAME_TAKEN name"}},
		{"a viewer", viewer, vm.CreateInput{ProjectID: w.project, Name: "mine", TemplateID: w.template}, []string{"FORBIDDEN projectId"}},
		{"a stranger", stranger, vm.CreateInput{ProjectID: w.project, Name: "mine", TemplateID: w.template}, []string{"NOT_FOUND projectId"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Create(w.as(c.who), c.in)
			refused(t, err, c.want...)
			require.Equal(t, 1, query[int](w, "SELECT count(*) FROM component"))
		})
	}
}

func TestProvisionRefuses(t *testing.T) {
	w := newWorld(t)
	id := w.vm()
	elsewhere := ident.New(ident.Account)
	other := ident.New(ident.Team)
	w.exec("INSERT INTO team (id, name, created_at) VALUES (?, 'Other', app_now())", other)
	w.exec("INSERT INTO team_member (team_id, user_id, role, joined_at) VALUES (?, ?, 'OWNER', app_now())", other, w.who.UserID)
	w.exec(`INSERT INTO cloud_account (id, team_id, name, kind, settings, sealed, created_at)
		VALUES (?, ?, 'cloud', 'SIMULATOR', '{}', '', app_now())`, elsewhere, other)
	big, err := w.Create(w.ann(), vm.CreateInput{
		ProjectID: w.project, Name: "big", TemplateID: w.template, Resources: &vm.ResourcesInput{CPU: ptr(int64(3000))},
	})
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		in   vm.ProvisionInput
		want []string
	}{
		{"nothing is there", vm.ProvisionInput{VirtualMachineID: ident.New(ident.VM), CloudAccountID: ident.New(ident.Account), IdempotencyKey: ptr("")},
			[]string{"INPUT_INVALID idempotencyKey", "NOT_FOUND virtualMachineId", "NOT_FOUND cloudAccountId"}},
		{"an account of another team of the same person", vm.ProvisionInput{VirtualMachineID: id, CloudAccountID: elsewhere},
			[]string{"NOT_FOUND cloudAccountId"}},
		{"no such region", vm.ProvisionInput{VirtualMachineID: id, CloudAccountID: w.account, Region: ptr("moon")}, []string{"INPUT_INVALID region"}},
		{"no such size", vm.ProvisionInput{VirtualMachineID: id, CloudAccountID: w.account, Size: ptr("huge")}, []string{"INPUT_INVALID size"}},
		{"a size that is too small", vm.ProvisionInput{VirtualMachineID: big.VM.ID, CloudAccountID: w.account, Size: ptr("sim-small")},
			[]string{"RESOURCES_TOO_SMALL size"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Provision(w.ann(), c.in)
			refused(t, err, c.want...)
			require.Zero(t, query[int](w, "SELECT count(*) FROM vm_provider"))
		})
	}
	dry, err := w.Provision(w.ann(), vm.ProvisionInput{VirtualMachineID: big.VM.ID, CloudAccountID: w.account, DryRun: true})
	require.NoError(t, err)
	require.Equal(t, &vm.Work{Plan: &vm.Plan{
		Region: "sim-north", Size: "sim-large", Steps: []string{"create_instance", "wait_for_boot", "wait_for_guest"},
	}}, dry, "the smallest size that holds it")
	require.Zero(t, query[int](w, "SELECT count(*) FROM operation"))
}

// runtime are the four mutations on a provider.
func (w *world) runtime() map[operation.Kind]func(ctx context.Context, id ident.ID, expected *int) error {
	return map[operation.Kind]func(ctx context.Context, id ident.ID, expected *int) error{
		operation.Start: func(ctx context.Context, id ident.ID, v *int) error {
			_, err := w.Start(ctx, vm.StartInput{VirtualMachineProviderID: id, ExpectedVersion: v})
			return err
		},
		operation.Stop: func(ctx context.Context, id ident.ID, v *int) error {
			_, err := w.Stop(ctx, vm.StopInput{VirtualMachineProviderID: id, ExpectedVersion: v})
			return err
		},
		operation.Restart: func(ctx context.Context, id ident.ID, v *int) error {
			_, err := w.Restart(ctx, vm.RestartInput{VirtualMachineProviderID: id, ExpectedVersion: v})
			return err
		},
		operation.Destroy: func(ctx context.Context, id ident.ID, v *int) error {
			_, err := w.Destroy(ctx, vm.DestroyInput{VirtualMachineProviderID: id, ExpectedVersion: v})
			return err
		},
	}
}

func TestWhoMayRunMachines(t *testing.T) {
	w := newWorld(t)
	id := w.running()
	before := w.provider(id)
	viewer, stranger := w.user("vic", auth.Viewer), w.user("sam", "")
	for kind, call := range w.runtime() {
		refused(t, call(w.as(viewer), id, nil), "FORBIDDEN virtualMachineProviderId")
		refused(t, call(w.as(stranger), id, nil), "NOT_FOUND virtualMachineProviderId")
		refused(t, call(w.ann(), ident.New(ident.Provider), nil), "NOT_FOUND virtualMachineProviderId")
		require.ErrorContains(t, call(t.Context(), id, nil), "UNAUTHENTICATED", kind)
	}
	require.Equal(t, before, w.provider(id))
	found, err := w.Provider(w.as(stranger), id)
	require.NoError(t, err)
	require.Nil(t, found)
}

func TestStaleVersions(t *testing.T) {
	w := newWorld(t)
	id := w.running()
	now := w.provider(id).Version
	for kind, call := range w.runtime() {
		err := call(w.ann(), id, ptr(now-1))
		refused(t, err, "STALE_VERSION expectedVersion")
		r, _ := fault.AsRefusals(err)
		require.Equal(t, fault.StaleAt{Current: now}, r[0].Detail, kind)
	}
	require.NoError(t, w.runtime()[operation.Stop](w.ann(), id, ptr(now)))

	machine := w.vm()
	_, err := w.Update(w.ann(), vm.UpdateInput{VirtualMachineID: machine, Name: "renamed", ExpectedVersion: ptr(7)})
	refused(t, err, "STALE_VERSION expectedVersion")
	got, err := w.Update(w.ann(), vm.UpdateInput{VirtualMachineID: machine, Name: "renamed", ExpectedVersion: ptr(1)})
	require.NoError(t, err)
	require.Equal(t, 2, got.Version)
	_, err = w.Delete(w.ann(), vm.DeleteInput{VirtualMachineID: machine, ExpectedVersion: ptr(1)})
	refused(t, err, "STALE_VERSION expectedVersion")
}

func TestDeleteNeedsMachinesGone(t *testing.T) {
	w := newWorld(t)
	work := w.provision()
	w.finish(work.Operation.ID)
	in := vm.DeleteInput{VirtualMachineID: work.Provider.VMID}
	_, err := w.Delete(w.ann(), in)
	refused(t, err, "IN_USE virtualMachineId")
	r, _ := fault.AsRefusals(err)
	require.Equal(t, fault.UsedBy{IDs: []ident.ID{work.Provider.ID}}, r[0].Detail)
	_, err = w.Delete(w.as(w.user("vic", auth.Viewer)), in)
	refused(t, err, "FORBIDDEN virtualMachineId")
	_, err = w.Delete(w.as(w.user("sam", "")), in)
	refused(t, err, "NOT_FOUND virtualMachineId")
	w.finish(w.mustDestroy(work.Provider.ID))
	gone, err := w.Delete(w.ann(), in)
	require.NoError(t, err)
	require.Equal(t, work.Provider.VMID, gone)
	_, err = w.Delete(w.ann(), in)
	refused(t, err, "NOT_FOUND virtualMachineId")
}

// With the feature off nothing new runs, and what runs can be brought down.
func TestFeatureDisabled(t *testing.T) {
	w := newWorldWith(t, false)
	machine := w.vm()
	_, err := w.Provision(w.ann(), vm.ProvisionInput{VirtualMachineID: machine, CloudAccountID: w.account})
	refused(t, err, "FEATURE_DISABLED virtualMachineId")

	id := ident.New(ident.Provider)
	w.exec(`INSERT INTO vm_provider (id, team_id, project_id, vm_id, account_id, kind, region, size, status, status_since, simulated, created_at)
		VALUES (?, ?, ?, ?, ?, 'SIMULATOR', 'sim-north', 'sim-small', 'PENDING', app_now(), true, app_now())`,
		id, w.team, w.project, machine, w.account)
	instance := w.orphan(string(id)).InstanceID
	w.exec("UPDATE vm_provider SET status = 'PROVISIONING', instance_id = ? WHERE id = ?", instance, id)
	w.exec("UPDATE vm_provider SET status = 'RUNNING' WHERE id = ?", id)
	w.later(bootTime)
	refused(t, w.runtime()[operation.Restart](w.ann(), id, nil), "FEATURE_DISABLED virtualMachineProviderId")
	require.Equal(t, operation.Succeeded, w.finish(w.mustStop(id, false)).Status)
	refused(t, w.runtime()[operation.Start](w.ann(), id, nil), "FEATURE_DISABLED virtualMachineProviderId")
	refused(t, w.runtime()[operation.Restart](w.ann(), id, nil),
		"FEATURE_DISABLED virtualMachineProviderId", "NOT_AVAILABLE virtualMachineProviderId")
	w.reconcile()
	require.Equal(t, operation.Succeeded, w.finish(w.mustDestroy(id)).Status)
}

func TestIdempotencyOfWork(t *testing.T) {
	w := newWorld(t)
	id := w.stopped()
	in := vm.StartInput{VirtualMachineProviderID: id, IdempotencyKey: ptr("go")}
	first, err := w.Start(w.ann(), in)
	require.NoError(t, err)
	w.finish(first.Operation.ID)
	w.finish(w.mustStop(id, false))
	again, err := w.Start(w.ann(), in)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.Operation.ID, again.Operation.ID)
	require.Equal(t, vm.Stopped, w.provider(id).Status, "a repeat is no new work")
	_, err = w.Start(w.ann(), vm.StartInput{VirtualMachineProviderID: ident.ID(id), ExpectedVersion: ptr(1), IdempotencyKey: ptr("go")})
	refused(t, err, "IDEMPOTENCY_KEY_REUSED idempotencyKey")
	w.later(operation.KeyLifetime + time.Minute)
	_, err = w.Start(w.ann(), in)
	require.NoError(t, err)
	require.Equal(t, vm.Starting, w.provider(id).Status)
}

func TestDryRunOfADestroyChangesNothing(t *testing.T) {
	w := newWorld(t)
	id := w.running()
	before, told := w.provider(id), len(w.events())
	got, err := w.Destroy(w.ann(), vm.DestroyInput{VirtualMachineProviderID: id, DryRun: true, IdempotencyKey: ptr("k")})
	require.NoError(t, err)
	require.Nil(t, got.Operation)
	require.Equal(t, before, w.provider(id))
	require.Len(t, w.events(), told)
	require.Zero(t, query[int](w, "SELECT count(*) FROM idempotency_key"))
}
