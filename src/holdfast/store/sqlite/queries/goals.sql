-- name: set_goal
REPLACE INTO goals (session, incarnation, text, state, budget, used, set_at, set_by)
SELECT s.id, s.incarnation, :text, 'active', :budget, 0, :now, :person FROM sessions s WHERE s.id = :session

-- name: with_a_goal
SELECT session FROM goals WHERE state = 'active' AND session IN (SELECT value FROM json_each(:sessions))

-- name: use_goal
-- Use one turn of an active goal of this incarnation, if it has one left and none is queued.
UPDATE goals SET used = used + 1
WHERE session = :session AND state = 'active' AND used < budget
  AND incarnation = (SELECT incarnation FROM sessions WHERE id = :session AND ended_at IS NULL AND suspended_at IS NULL)
  AND NOT EXISTS (
      SELECT 1 FROM sessions s JOIN inbox i ON i.key = s.key AND i.state = 'waiting' AND i.kind <> 'command'
      WHERE s.id = :session AND i.account = :account AND i.event_id LIKE 'goal:%')
RETURNING text, used, budget, set_by, incarnation

-- name: spend_goal
-- Not while the last turn of the goal is still queued.
UPDATE goals SET state = 'spent', ended_at = :now
WHERE session = :session AND state = 'active' AND used >= budget
  AND NOT EXISTS (
      SELECT 1 FROM sessions s JOIN inbox i ON i.key = s.key AND i.state = 'waiting' AND i.kind <> 'command'
      WHERE s.id = :session AND i.account = :account AND i.event_id LIKE 'goal:%')
RETURNING text, budget

-- name: end_goal
UPDATE goals SET state = :state, words = :words, ended_at = :now WHERE session = :session AND state = 'active'
RETURNING text

-- name: end_goals
UPDATE goals SET state = 'stopped', ended_at = :now
WHERE session IN (SELECT value FROM json_each(:sessions)) AND state = 'active'

-- name: drop_goal_turns
UPDATE inbox SET state = 'dropped', reason = 'the goal is over', settled_at = :now
WHERE key = :key AND state = 'waiting' AND kind <> 'command' AND account = :account AND event_id LIKE 'goal:%'

-- name: place_of_session
SELECT key, chat FROM sessions WHERE id = :session

-- name: goal_of
SELECT g.session, g.text, g.state, g.budget, g.used, g.set_at, g.set_by, g.words, EXISTS (
    SELECT 1 FROM inbox i WHERE i.key = s.key AND i.state = 'waiting' AND i.kind <> 'command'
       AND i.account = :account AND i.event_id LIKE 'goal:%')
FROM sessions s JOIN goals g ON g.session = s.id WHERE s.key = :key AND s.ended_at IS NULL
