package team

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/store"
)

// teamRow is a team as it is read for an actor.
type teamRow struct {
	ID        ident.ID
	Name      string
	Version   int
	CreatedAt time.Time
	ScopeRole auth.Role
}

// visibleTeams is the query for the teams that the actor is in.
func visibleTeams(g *gorm.DB, who auth.Actor) *gorm.DB {
	q := g.Table("team t").Select("t.id, t.name, t.version, t.created_at, scope_member.role AS scope_role")
	return auth.Visible(q, who, "t.id")
}

func (r *teamRow) public(who auth.Actor) *Team {
	return &Team{
		ID: r.ID, Name: r.Name, Version: r.Version, CreatedAt: r.CreatedAt.UTC(),
		ViewerRole: auth.Lower(r.ScopeRole, who.Ceiling),
	}
}

// memberRow is a membership with its user.
type memberRow struct {
	TeamID   ident.ID
	UserID   ident.ID
	Role     auth.Role
	JoinedAt time.Time
	Name     string
	Email    string
}

// visibleMembers is the query for the members of the teams that the actor is in.
func visibleMembers(g *gorm.DB, who auth.Actor) *gorm.DB {
	q := g.Table("team_member m").Joins("JOIN app_user u ON u.id = m.user_id").
		Select("m.team_id, m.user_id, m.role, m.joined_at, u.name, u.email")
	return auth.Visible(q, who, "m.team_id")
}

func (r *memberRow) public() *Member {
	return &Member{
		TeamID: r.TeamID, User: &User{ID: r.UserID, Name: r.Name, Email: r.Email}, Role: r.Role, JoinedAt: r.JoinedAt.UTC(),
	}
}

// memberWindow narrows and orders the members of one team to a page. Members are
// ordered by when they joined, which their ids do not tell.
func memberWindow(q *gorm.DB, w page.Window) (*gorm.DB, error) {
	for _, bound := range []struct {
		cursor *page.Cursor
		sign   string
	}{{w.After, ">"}, {w.Before, "<"}} {
		if bound.cursor == nil {
			continue
		}
		joined, user, err := memberKey(*bound.cursor)
		if err != nil {
			return nil, err
		}
		q = q.Where("(m.joined_at, m.user_id) "+bound.sign+" (?::timestamptz, ?)", joined, user)
	}
	order := "m.joined_at, m.user_id"
	if w.Backward {
		order = "m.joined_at DESC, m.user_id DESC"
	}
	return q.Order(order).Limit(w.Size + 1), nil
}

func memberOrder(w page.Window) string {
	if w.Backward {
		return "joined_at DESC, user_id DESC"
	}
	return "joined_at, user_id"
}

func memberKey(c page.Cursor) (joined time.Time, user string, err error) {
	parts, err := c.Parts(3)
	if err == nil && parts[0] == "member" {
		if joined, err = time.Parse(time.RFC3339Nano, parts[1]); err == nil {
			return joined, parts[2], nil
		}
	}
	return time.Time{}, "", fault.New(fault.BadRequest, "the cursor belongs to another list: pass one that this list answered")
}

// accountRow is a cloud account as it is read.
type accountRow struct {
	ID        ident.ID
	TeamID    ident.ID
	Name      string
	Kind      string
	Version   int
	CreatedAt time.Time
}

// visibleAccounts is the query for the accounts of the teams that the actor is
// in.
func visibleAccounts(g *gorm.DB, who auth.Actor) *gorm.DB {
	q := g.Table("cloud_account a").Select("a.id, a.team_id, a.name, a.kind, a.version, a.created_at")
	return auth.Visible(q, who, "a.team_id")
}

func (r *accountRow) public() *Account {
	return &Account{
		ID: r.ID, TeamID: r.TeamID, Name: r.Name, Kind: r.Kind, Simulated: isSimulated(r.Kind),
		Version: r.Version, CreatedAt: r.CreatedAt.UTC(),
	}
}

// tokenRow is an access token as it is read.
type tokenRow struct {
	ID        ident.ID
	Name      string
	Ceiling   auth.Role
	ExpiresAt *time.Time
	RevokedAt *time.Time
	CreatedAt time.Time
}

const tokenColumns = "id, name, ceiling, expires_at, revoked_at, created_at" //nolint:gosec // names of columns

func (r *tokenRow) public() *AccessToken {
	return &AccessToken{
		ID: r.ID, Name: r.Name, Ceiling: r.Ceiling, ExpiresAt: utc(r.ExpiresAt), RevokedAt: utc(r.RevokedAt),
		CreatedAt: r.CreatedAt.UTC(),
	}
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// lockTeam lets one change of the team's members happen at a time, so that two
// cannot each take away the owner that the other counts on. It does not keep
// others from referring to the team.
func lockTeam(tx *gorm.DB, team ident.ID) error {
	if err := tx.Exec("SELECT 1 FROM team WHERE id = ? FOR NO KEY UPDATE", team).Error; err != nil {
		return fmt.Errorf("lock team: %w", err)
	}
	return nil
}

// roleIn is the role of a user in a team as it is stored; empty for no member.
func roleIn(tx *gorm.DB, team, user ident.ID) (auth.Role, error) {
	var role auth.Role
	err := tx.Raw("SELECT role FROM team_member WHERE team_id = ? AND user_id = ?", team, user).Scan(&role).Error
	if err != nil {
		return "", fmt.Errorf("read member: %w", err)
	}
	return role, nil
}

// ownersOf counts the owners of a team.
func ownersOf(tx *gorm.DB, team ident.ID) (int, error) {
	var n int
	err := tx.Raw("SELECT count(*) FROM team_member WHERE team_id = ? AND role = ?", team, auth.Owner).Scan(&n).Error
	if err != nil {
		return 0, fmt.Errorf("count owners: %w", err)
	}
	return n, nil
}

// insertToken stores a token by its hash.
func insertToken(tx *gorm.DB, user ident.ID, t tokenRow, hash []byte) error {
	err := tx.Exec(`INSERT INTO access_token (id, user_id, name, hash, ceiling, expires_at, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, t.ID, user, t.Name, hash, t.Ceiling, t.ExpiresAt, t.CreatedAt).Error
	if err != nil {
		return fmt.Errorf("store access token: %w", err)
	}
	return nil
}

// insertTeam stores a team.
func insertTeam(tx *gorm.DB, id ident.ID, name string, now time.Time) error {
	err := tx.Exec("INSERT INTO team (id, name, created_at) VALUES (?, ?, ?)", id, name, now).Error
	if err != nil {
		return fmt.Errorf("store team: %w", err)
	}
	return nil
}

// insertMember stores a membership.
func insertMember(tx *gorm.DB, team, user ident.ID, role auth.Role, now time.Time) error {
	err := tx.Exec("INSERT INTO team_member (team_id, user_id, role, joined_at) VALUES (?, ?, ?, ?)",
		team, user, role, now).Error
	if err != nil {
		return fmt.Errorf("store member: %w", err)
	}
	return nil
}

// inOrder puts what was found into the order of the ids asked for, nil for each
// that was not found.
func inOrder[T any](wanted []ident.ID, found []*T, id func(*T) ident.ID) []*T {
	byID := make(map[ident.ID]*T, len(found))
	for _, x := range found {
		byID[id(x)] = x
	}
	out := make([]*T, len(wanted))
	for i, w := range wanted {
		out[i] = byID[w]
	}
	return out
}

// window checks paging arguments.
func window(args page.Args) (page.Window, error) {
	w, err := args.Window()
	if err != nil {
		return w, fault.New(fault.BadRequest, "%s", err.Error())
	}
	return w, nil
}

// publicPages turns pages of rows into pages of what is answered.
func publicPages[R, T any](in []page.Page[R], public func(*R) *T) []page.Page[*T] {
	out := make([]page.Page[*T], len(in))
	for i, p := range in {
		items := make([]*T, len(p.Items))
		for j := range p.Items {
			items[j] = public(&p.Items[j])
		}
		out[i] = page.Page[*T]{Items: items, HasNext: p.HasNext, HasPrevious: p.HasPrevious}
	}
	return out
}

// ids is a list of ids as one parameter.
func ids(of []ident.ID) store.IDs { return of }

// accountNamed says whether an account of the team has the name, regardless of
// case.
func accountNamed(g *gorm.DB, team ident.ID, name string) (bool, error) {
	var taken bool
	err := g.Raw("SELECT EXISTS (SELECT FROM cloud_account WHERE team_id = ? AND lower(name) = lower(?))", team, name).Scan(&taken).Error
	if err != nil {
		return false, fmt.Errorf("look up name: %w", err)
	}
	return taken, nil
}

// insertUser stores a user.
func insertUser(tx *gorm.DB, u User, now time.Time) error {
	err := tx.Exec("INSERT INTO app_user (id, email, name, created_at) VALUES (?, ?, ?, ?)", u.ID, u.Email, u.Name, now).Error
	if err != nil {
		return fmt.Errorf("store user: %w", err)
	}
	return nil
}
