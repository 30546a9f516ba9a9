-- For search(): the conditions on a row `i` of instances, as SQL that begins with " and"; empty for none.
-- What the source of a search ensures by itself is left out of p_query.
--
-- Settings: its caller's.
create or replace function search_filter(p_query jsonb)
  returns text
  language plpgsql
  stable
as $$
declare
  v_statuses jsonb := p_query -> 'statuses';
  -- As in instance_rows().
  v_is_scheduled text := 'coalesce(:UNADMITTED or r.epoch = 0'
    ' and (select l.turn = 1 and l.next_event = 2 from last_turn(r.iid) as l), false)';
  v_unfinished text[] := '{}';
  v_choices text[] := '{}';
  v_filter text := '';
begin
  if jsonb_typeof(v_statuses) = 'array' then
    if v_statuses ?| array['completed', 'failed', 'cancelled', 'terminated'] then
      v_choices := v_choices || format('i.status = any (%L)', end_statuses(v_statuses));
    end if;
    if v_statuses ?& array['scheduled', 'running', 'suspended'] then
      v_choices := v_choices || 'i.status = :STATUS.running'::text;
    elsif v_statuses ?| array['scheduled', 'running', 'suspended'] then
      if v_statuses ? 'suspended' then
        v_unfinished := v_unfinished || 'r.held'::text;
      end if;
      if v_statuses ?& array['scheduled', 'running'] then
        v_unfinished := v_unfinished || 'not r.held'::text;
      elsif v_statuses ? 'scheduled' then
        v_unfinished := v_unfinished || ('not r.held and ' || v_is_scheduled);
      elsif v_statuses ? 'running' then
        v_unfinished := v_unfinished || ('not r.held and not ' || v_is_scheduled);
      end if;
      v_choices := v_choices || format(
        'i.status = :STATUS.running and (select true from runs as r where r.iid = i.iid and (%s) limit 1)',
        array_to_string(v_unfinished, ' or ')
      );
    end if;
    v_filter := v_filter
      || format(' and (%s)', coalesce(nullif(array_to_string(v_choices, ' or '), ''), 'false'));
  end if;
  if p_query ->> 'workflow' is not null then
    v_filter := v_filter || format(
      ' and i.any_version = (select w.workflow from workflows as w where w.name = %L and w.version = '''')',
      p_query ->> 'workflow'
    );
  end if;
  if p_query ->> 'version' is not null then
    v_filter := v_filter || format(
      ' and i.workflow = any (array(select w.workflow from workflows as w where w.version = %L))',
      p_query ->> 'version'
    );
  end if;
  if (p_query ->> 'minExecution')::integer > 1 then
    v_filter := v_filter || format(' and i.execution >= %L', p_query ->> 'minExecution');
  end if;
  if p_query ->> 'finishedFrom' is not null then
    v_filter := v_filter || format(' and i.finished_at >= %L', p_query ->> 'finishedFrom');
  end if;
  if p_query ->> 'finishedUntil' is not null then
    v_filter := v_filter || format(' and i.finished_at < %L', p_query ->> 'finishedUntil');
  end if;
  if p_query ->> 'idPrefix' is not null then
    v_filter := v_filter || format(' and starts_with(i.id, %L)', p_query ->> 'idPrefix');
  end if;
  if p_query -> 'labels' <> '{}' then
    v_filter := v_filter
      || format(' and coalesce(i.labels, ''{}'')::jsonb @> %L', p_query -> 'labels');
  end if;
  return v_filter;
end
$$;
