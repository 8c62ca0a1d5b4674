package vm

import (
	"context"

	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
)

func (s *Service) startHandler() operation.Handler {
	return operation.Handler{
		Kind: operation.Start,
		Steps: []operation.StepDef{
			{Name: "start_instance", Cancelable: true, Limit: callLimit, Do: s.step(s.startInstance)},
			{Name: "wait_for_boot", Cancelable: true, Limit: bootLimit, Do: s.step(s.waitForBoot)},
			{Name: "wait_for_guest", Cancelable: true, Limit: bootLimit, Do: s.step(s.waitForGuest)},
		},
		CleanUp: []operation.StepDef{
			{Name: "stop_instance", Limit: callLimit, Do: s.step(s.stopInstance)},
			{Name: "settle", Limit: stopLimit, Do: s.step(s.settle)},
		},
		Lock:  lockTarget,
		Begin: s.enterOn(operation.Start),
		End:   s.endPower(Running, Starting, Stopped),
		Retry: s.retryFrom(operation.Start),
	}
}

func (s *Service) stopHandler() operation.Handler {
	return operation.Handler{
		Kind: operation.Stop,
		Steps: []operation.StepDef{
			{Name: "stop_instance", Cancelable: true, Limit: callLimit, Do: s.step(s.stopInstance)},
			{Name: "wait_for_stop", Limit: stopLimit, Do: s.step(s.waitForStop)},
		},
		CleanUp: []operation.StepDef{
			{Name: "settle", Limit: stopLimit, Do: s.step(s.settle)},
		},
		Lock:  lockTarget,
		Begin: s.enterOn(operation.Stop),
		End:   s.endPower(Stopped, Stopping, Running),
		Retry: s.retryFrom(operation.Stop),
	}
}

func (s *Service) restartHandler() operation.Handler {
	return operation.Handler{
		Kind: operation.Restart,
		Steps: []operation.StepDef{
			{Name: "restart_instance", Cancelable: true, Limit: callLimit, Do: s.step(s.restartInstance)},
			{Name: "wait_for_boot", Cancelable: true, Limit: bootLimit, Do: s.step(s.waitForBoot)},
			{Name: "wait_for_guest", Cancelable: true, Limit: bootLimit, Do: s.step(s.waitForGuest)},
		},
		CleanUp: []operation.StepDef{
			{Name: "settle", Limit: stopLimit, Do: s.step(s.settle)},
		},
		Lock:  lockTarget,
		Begin: s.enterOn(operation.Restart),
		// The machine is shown as RUNNING all the while: it is being restarted, not
		// taken away, and it keeps its addresses.
		End:   s.endPower("", "", ""),
		Retry: s.retryFrom(operation.Restart),
	}
}

// startInstance asks the cloud to start the machine, unless it runs already: an
// earlier try may have asked.
func (s *Service) startInstance(ctx context.Context, m *machine) (operation.Result, error) {
	o, err := m.observe(ctx)
	if err != nil {
		return operation.Result{}, err
	}
	if o.State == provider.StateRunning || o.State == provider.StateStarting {
		return operation.Result{Detail: "it was started already"}, nil
	}
	if err := m.work.Guard(ctx); err != nil {
		return operation.Result{}, err
	}
	if err := m.driver.Start(ctx, m.account, m.ref()); err != nil {
		return operation.Result{}, err
	}
	return operation.Result{Detail: "the cloud was asked to start it", Apply: m.tell("the cloud was asked to start the machine")}, nil
}

// stopInstance asks the cloud to stop the machine, unless it is stopped or gone.
func (s *Service) stopInstance(ctx context.Context, m *machine) (operation.Result, error) {
	o, err := m.observe(ctx)
	gone, err := unlessGone(err)
	switch {
	case err != nil:
		return operation.Result{}, err
	case gone && m.work.CleaningUp():
		return operation.Result{Detail: "the machine is gone from the cloud"}, nil
	case gone:
		return operation.Result{}, goneError()
	case o.State == provider.StateStopped || o.State == provider.StateStopping:
		return operation.Result{Detail: "it was stopped already"}, nil
	}
	if err := m.work.Guard(ctx); err != nil {
		return operation.Result{}, err
	}
	if err := m.driver.Stop(ctx, m.account, m.ref()); err != nil {
		return operation.Result{}, err
	}
	return operation.Result{Detail: "the cloud was asked to stop it", Apply: m.tell("the cloud was asked to stop the machine")}, nil
}

func (s *Service) restartInstance(ctx context.Context, m *machine) (operation.Result, error) {
	if err := m.work.Guard(ctx); err != nil {
		return operation.Result{}, err
	}
	if err := m.driver.Restart(ctx, m.account, m.ref()); err != nil {
		return operation.Result{}, err
	}
	return operation.Result{Detail: "the cloud was asked to restart it", Apply: m.tell("the cloud was asked to restart the machine")}, nil
}

// tell writes a line of the platform beside the step.
func (m *machine) tell(line string) func(tx *operation.Tx) error {
	return func(tx *operation.Tx) error {
		tx.Log(m.ID, "%s", line)
		return nil
	}
}

func goneError() error {
	return &operation.Error{
		Code: operation.CodeInstanceNotFound, Message: "the machine is not in the cloud any more; destroy it here and provision anew",
	}
}

func (s *Service) waitForStop(ctx context.Context, m *machine) (operation.Result, error) {
	o, err := m.observe(ctx)
	gone, err := unlessGone(err)
	switch {
	case err != nil:
		return operation.Result{}, err
	case gone:
		return operation.Result{}, goneError()
	case o.State == provider.StateStopped:
		return operation.Result{Detail: "the cloud says it is stopped", Apply: func(tx *operation.Tx) error {
			p, err := readProvider(tx.DB, m.ID)
			if err != nil {
				return err
			}
			return p.setAddress(tx, addressOf(o), m.cause())
		}}, nil
	case o.State == provider.StateRunning && o.Fault != nil, o.State == provider.StateError:
		return operation.Result{}, faultOf(o, "the machine could not be stopped")
	}
	return m.waitFor("waiting for the cloud: " + string(o.State)), nil
}

// endPower stores how a change of power has ended: from the status that was
// shown meanwhile to the wanted one, or back. What the clean-up has found and
// stored stays.
func (s *Service) endPower(wanted, meanwhile, back Status) func(*operation.Tx, *operation.Work, operation.Status, *operation.Error) error {
	return func(tx *operation.Tx, w *operation.Work, status operation.Status, failure *operation.Error) error {
		p, err := readProvider(tx.DB, w.Target())
		if err != nil {
			return err
		}
		if err := p.setLastError(tx, failure); err != nil {
			return err
		}
		if p.Status != meanwhile {
			return nil
		}
		by := cause{operationID: w.ID(), actorID: w.Actor()}
		if status == operation.Succeeded {
			return p.setStatus(tx, wanted, by)
		}
		return p.setStatus(tx, back, by)
	}
}
