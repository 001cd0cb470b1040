"""tests/integration/recorder/trace_check.py - what a trace of Chrome's format must be

check(trace, records) compares a trace that hoopctl record wrote with the same
records in hoop's format, both as json.load() returns them: each event has the
fields of its phase and no others, a rank is a process whose tracks hold events
that lie apart or within each other, each event is a call of the records and
each call an event, a message that both records have is one flow with both ends
within its calls, and all times agree within the error that is stated. For the
last, a collective is an oracle: no rank can end it before the ranks on which
its result depends have begun it, and no receive ends before its send begins.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
describes the format.
"""

import bisect
import collections
import json

# What the fields of each phase must be.
NUMBER = (int, float)
FIELDS = {
    'M': {'name': str, 'pid': int, 'args': dict},
    'X': {'cat': str, 'name': str, 'pid': int, 'tid': int, 'ts': NUMBER, 'dur': NUMBER, 'args': dict},
    's': {'cat': str, 'name': str, 'id': int, 'pid': int, 'tid': int, 'ts': NUMBER},
    'f': {'cat': str, 'name': str, 'id': int, 'pid': int, 'tid': int, 'ts': NUMBER, 'bp': str},
}
METADATA = {'process_name': ({'name', 'labels'}, str), 'process_sort_index': ({'sort_index'}, int)}
# Half of the last digit of a time, in microseconds, twice.
ROUNDING_US = 0.0011

# Of whom the end of a call waits for the beginning of whose, if there are data.
EACH_FOR_EACH = {'allreduce', 'allgather', 'reduce_scatter', 'alltoall', 'barrier', 'allreduce_coalesced'}
EACH_FOR_ROOT = {'broadcast', 'scatter'}
ROOT_FOR_EACH = {'reduce', 'gather'}


def check_fields(event):
    phase = event.get('ph')
    assert phase in FIELDS, event
    fields = FIELDS[phase]
    assert set(event) == {'ph', *fields}, event
    for name, kind in fields.items():
        assert isinstance(event[name], kind) and not isinstance(event[name], bool), (name, event)
    assert event['pid'] >= 0 and event.get('tid', 0) >= 0, event
    assert event.get('ts', 0) >= 0 and event.get('dur', 0) >= 0, event
    if phase == 'M':
        names, kind = METADATA[event['name']]
        assert set(event['args']) == names, event
        assert all(isinstance(value, kind) for value in event['args'].values()), event
    if phase == 'f':
        assert event['bp'] == 'e', event


def check_tracks(events, ranks):
    """A process for each rank, in its place; events of a track lie apart, or one within the other."""
    named = {(event['pid'], event['name']): event['args'] for event in events if event['ph'] == 'M'}
    assert len(named) == sum(event['ph'] == 'M' for event in events), 'a process is named twice'
    assert set(named) == {(rank['rank'], name) for rank in ranks for name in METADATA}, named
    for rank in ranks:
        assert named[rank['rank'], 'process_name']['name'] == f"rank {rank['rank']}", named
        assert named[rank['rank'], 'process_sort_index']['sort_index'] == rank['rank'], named
    tracks = collections.defaultdict(list)
    for event in events:
        if event['ph'] == 'X':
            tracks[event['pid'], event['tid']].append((event['ts'], -event['dur']))
    for (rank, track), row in tracks.items():
        assert track == 0 or (rank, track - 1) in tracks, f'rank {rank} has a track {track} without the one before'
        under_way = []
        for begin, minus_duration in sorted(row):
            end = begin - minus_duration
            while under_way and under_way[-1] <= begin + ROUNDING_US:
                under_way.pop()
            assert not under_way or end <= under_way[-1] + ROUNDING_US, \
                f'rank {rank}, track {track}: what begins at {begin} ends after what it lies in'
            under_way.append(end)


def event_of_call(rank, call, base):
    """The event that stands for a call of the records; its duration is None if it has not ended."""
    args = {'number': call['number'] or 0, 'bytes': call['bytes'], 'communicator': str(call['communicator']),
            'state': call['state'], 'status': call['status'], 'algorithm': call['algorithm'] or ''}
    if call['waited_for'] is not None:
        args.update(waited_for=call['waited_for'], waited_us=round(call['waited_ns'] / 1000, 3))
    if call['waiting_for'] is not None:
        args['waiting_for'] = call['waiting_for']
    duration = None if call['ended_ns'] is None else call['ended_ns'] - call['called_ns']
    category = 'collective' if call['tag'] is None else 'message'
    return (rank['rank'], call['called_ns'] - base, call['kind'], category, json.dumps(args, sort_keys=True), duration)


def event_of_trace(event):
    has_ended = event['args']['state'] in ('done', 'failed')
    return (event['pid'], round(event['ts'] * 1000), event['name'], event['cat'],
            json.dumps(event['args'], sort_keys=True), round(event['dur'] * 1000) if has_ended else None)


def check_events(events, ranks, base):
    """Each call of the records is an event, and each event a call."""
    expected = collections.Counter(event_of_call(rank, call, base) for rank in ranks for call in rank['calls'])
    found = collections.Counter(event_of_trace(event) for event in events if event['ph'] == 'X')
    assert found == expected, (list((found - expected).elements())[:3], list((expected - found).elements())[:3])


class Calls:
    """The calls of all ranks, by what they have in common."""

    def __init__(self, ranks):
        self.sends, self.receives = {}, {}
        self.collectives = collections.defaultdict(dict)
        for rank in ranks:
            members = {comm['id']: comm['ranks'] for comm in rank['communicators']}
            for call in rank['calls']:
                self.add(rank['rank'], call, members.get(call['communicator']))

    def add(self, rank, call, members):
        if call['tag'] is None:
            if members and len(members) > 1 and call['state'] == 'done':
                key = call['communicator'], tuple(members), call['wire_number'], call['kind']
                self.collectives[key][rank] = call
            return
        is_receive = call['kind'].startswith('recv')
        if not members or call['peer'] is None or (is_receive and call['state'] != 'done'):
            return
        peer = members[call['peer']]
        way = (peer, rank) if is_receive else (rank, peer)
        (self.receives if is_receive else self.sends)[call['communicator'], way, call['wire_number']] = call

    def messages(self):
        return [key for key in self.sends if key in self.receives]


def calls_around(end, slices, base):
    """(rank, when it was called) of the sends or receives in which an end of a flow lies."""
    row = slices[end['pid'], end['tid']]
    behind = bisect.bisect_right(row, end['ts'] + ROUNDING_US, key=lambda event: event['ts'])
    kind = 'send' if end['ph'] == 's' else 'recv'
    around = {(event['pid'], round(event['ts'] * 1000) + base) for event in row[max(0, behind - 4):behind]
              if end['ts'] <= event['ts'] + event['dur'] + ROUNDING_US and event['name'].startswith(kind)}
    assert around, ('an end of a flow lies in no call', end)
    return around


def check_flows(events, calls, base, error_ns):
    """Each message of which both ends are known is one flow, from within its send to within its receive."""
    ends = collections.defaultdict(dict)
    for event in events:
        if event['ph'] in 'sf':
            assert event['ph'] not in ends[event['id']], event
            assert (event['cat'], event['name']) == ('message', 'message'), event
            ends[event['id']][event['ph']] = event
    slices = collections.defaultdict(list)
    for event in sorted(events, key=lambda event: event.get('ts', 0)):
        if event['ph'] == 'X':
            slices[event['pid'], event['tid']].append(event)
    flows = collections.defaultdict(list)
    for flow in ends.values():
        assert set(flow) == {'s', 'f'}, flow
        assert flow['f']['ts'] >= flow['s']['ts'] - error_ns / 1000 - ROUNDING_US, flow
        sends, receives = calls_around(flow['s'], slices, base), calls_around(flow['f'], slices, base)
        for send in sends:
            flows[send].append((id(flow), receives))
    taken = set()
    for key in calls.messages():
        source, sink = key[1]
        receive = sink, calls.receives[key]['called_ns']
        matching = [flow for flow, receives in flows[source, calls.sends[key]['called_ns']]
                    if receive in receives and flow not in taken]
        assert matching, ('a message is no flow', key)
        taken.add(matching[0])
    assert len(taken) == len(ends), f'{len(ends) - len(taken)} flows are no messages'
    return len(taken)


def waits_for(kind, members, root):
    """[(whose end, for whose beginning)] of world ranks."""
    if kind in EACH_FOR_EACH:
        return [(one, other) for one in members for other in members]
    if kind in EACH_FOR_ROOT:
        return [(one, members[root]) for one in members]
    if kind in ROOT_FOR_EACH:
        return [(members[root], other) for other in members]
    return []


def check_alignment(calls, error_ns):
    """Returns how many collectives and messages have shown that times agree."""
    n_collectives = 0
    for (_, members, _, kind), by_rank in calls.collectives.items():
        one = next(iter(by_rank.values()))
        if set(by_rank) != set(members) or (kind != 'barrier' and one['count'] == 0):
            continue
        pairs = waits_for(kind, members, one['peer'])
        for late, early in pairs:
            assert by_rank[late]['ended_ns'] + error_ns >= by_rank[early]['called_ns'], \
                (kind, one['number'], f'rank {late} has ended before rank {early} called', by_rank)
        n_collectives += bool(pairs)
    for key in calls.messages():
        send, receive = calls.sends[key], calls.receives[key]
        assert receive['ended_ns'] + error_ns >= send['called_ns'], (key, send, receive)
    return n_collectives, len(calls.messages())


def check(trace, records):
    """Returns how many collectives and messages of several ranks were compared."""
    assert set(trace) == {'traceEvents', 'displayTimeUnit', 'otherData'}, set(trace)
    assert trace['displayTimeUnit'] in ('ms', 'ns')
    about, clock = trace['otherData'], records['clock']
    assert set(about) == {'base_ns', 'clock', 'clock_error_ns', 'rank_error_ns'}, about
    assert about['clock'].endswith(clock['of']), about
    assert (about['clock_error_ns'], about['rank_error_ns']) == (clock['error_ns'], clock['rank_error_ns'])
    base, error_ns, ranks = int(about['base_ns']), clock['rank_error_ns'], records['ranks']
    assert base == min(call['called_ns'] for rank in ranks for call in rank['calls'])
    assert error_ns is not None, 'nothing is known of how the clocks of the ranks compare'
    events = trace['traceEvents']
    for event in events:
        check_fields(event)
    check_tracks(events, ranks)
    check_events(events, ranks, base)
    calls = Calls(ranks)
    n_messages = check_flows(events, calls, base, error_ns)
    n_collectives, compared = check_alignment(calls, error_ns)
    assert compared == n_messages
    return n_collectives, n_messages
