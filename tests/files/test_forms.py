# ruff: noqa: E501 - files, one a line
"""Files as people have them: each is read rightly, and says how, or is refused with its fix."""

import json
from pathlib import Path
from typing import Any

import pytest

from racebot.errors import PayloadError
from racebot.files.options import options_of
from racebot.files.read import RaceFiles, read_races
from racebot.races.outcome import TeamPolicy, outcome_of, places
from racebot.races.result import RaceResult
from racebot.study.history import History


def order(race: RaceResult) -> str:
    """Return the finishers by place, equal ones joined by =, and after a bar those who did not finish."""
    by_place: dict[int | None, list[str]] = {}
    for entrant, place in sorted(places(race).items(), key=lambda each: (each[1] or 9999, each[0].name)):
        by_place.setdefault(place, []).append(entrant.name)
    out = by_place.pop(None, [])
    return " ".join("=".join(names) for names in by_place.values()) + (f" | {' '.join(out)}" if out else "")


def written(path: Path, content: str | bytes | object) -> Path:
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def read(path: Path, **options: Any) -> RaceFiles:
    return read_races(path, options=options_of(**options))


FORMS: dict[str, tuple[str | bytes, dict[str, Any], dict[str, str], str]] = {
    # What the file has, options, the order of each race, and a part of what is said.
    "a place wins over a time": ("race_id,racer,position,total_time,laps\n1,Ann,1,20:13,21\n1,Bo,2,20:22,21\n1,Cy,3,5:15,5\n", {}, {"1": "Ann Bo Cy"}, "places count where times contradict them: 1 line, the first is line 4"),
    "a time wins over a place where times are scored": ("race,player,place,time\na,Ann,1,2:00\na,Bo,2,1:00\n", {"by_time": True}, {"a": "Bo Ann"}, "times count where places contradict them: 1 line"),
    "a flag for no finish": ("race,player,place,dnf\na,Ann,1,False\na,Bo,2,True\n", {}, {"a": "Ann | Bo"}, "1 × 'dnf' as not finished"),
    "a column of statuses": ("race,player,place,status\na,Ann,1,Finished\na,Bo,2,+1 Lap\na,Cy,3,Engine\na,Di,4,DSQ\na,Ed,,DNS\n", {}, {"a": "Ann Bo | Cy Di"}, "1 × 'Engine' as not finished"),
    "a word beside a name": ("Race,1st,2nd,3rd\na,Ann,Bo,Di (DNF)\n", {}, {"a": "Ann Bo | Di"}, "1 × 'DNF' as not finished"),
    "a word beside a score": ("Skipper,R1,R2\nAnn,1,(4 DNF)\nBo,2,1\nCy,3,2\n", {}, {"R1": "Ann Bo Cy", "R2": "Bo Cy | Ann"}, "1 × 'DNF' as not finished"),
    "Markdown": ("| Player | Place |\n|:---|---|\n| Ann | 2 |\n| Bo | 1 |\n", {}, {"t": "Bo Ann"}, "separated by |"),
    "a dead heat, and a first name beside the other": ("Carrera\tNombre\tApellidos\tPuesto\na\tAnn\tLee\t1 DH\na\tAnn\tRay\t1 DH\na\tBo\tLee\t3\n", {}, {"a": "Ann Lee=Ann Ray Bo Lee"}, "player=Nombre+Apellidos"),
    "a word beside no result": ("race,player,place,status\na,Ann,1,ok\na,Bo,2,ok\na,Cy,,Gave up\n", {}, {"a": "Ann Bo | Cy"}, "1 × 'Gave up' as not finished"),
    "a sentence below a heading": ("## Week 2 (2025-04-19)\nGo!\n\n|Place|Player|\n|--|--|\n|1|Bo|\n|2|Ann|\n\n## Week 1 (2025-04-12)\nSo it begins.\n\n|Place|Player|\n|--|--|\n|1|Ann|\n|2|Bo|\n", {}, {"Week 2 (2025-04-19)": "Bo Ann", "Week 1 (2025-04-12)": "Ann Bo"}, "dates: those in the names of races"),
    "scores named by the sides": ("Yellow,Black,Yellow goals,Black goals\nAnn,Bo,10,7\nBo,Cy,4,10\n", {}, {"t-000002": "Ann Bo", "t-000003": "Cy Bo"}, "each line is a race of two, 'Yellow' and 'Black'"),
    "scores with their unit": ("Meet,Athlete,Mark,Wind\na,Ann,5.98m,0.1\na,Bo,6.12m,-0.2\n", {"columns": "score=Mark"}, {"a": "Bo Ann"}, "the highest score wins"),
    "dates with months in other languages": ("race,date,player,place\na,4 mei 2025,Ann,1\na,4 mei 2025,Bo,2\nb,3. März 2025,Bo,1\nb,3. März 2025,Ann,2\nc,12 de abril de 2025,Bo,1\nc,12 de abril de 2025,Ann,2\n", {}, {"a": "Ann Bo", "b": "Bo Ann", "c": "Bo Ann"}, "first race: 'b', 2025-03-03"),
    "times of a workbook without their format": ("race,player,Swim,Finish\na,Ann,0.0211,0.0875\na,Bo,0.0204,0.0863\na,Cy,,DNF\n", {}, {"a": "Bo Ann | Cy"}, "first race: 'a': Bo 2:04:16 > Ann 2:06:00; not finished: Cy"),
    "a place with what it was for": ("Athlete,25.1 Fran,25.2 Row\nAnn,2nd (2:51),T1 (180 kg)\nBo,1st (2:45),T1 (180 kg)\nCy,3rd (CAP+5),WD\n", {}, {"25.1 Fran": "Bo Ann Cy", "25.2 Row": "Ann=Bo"}, "a column for each race, with places"),
    "words of Korea": ("종목,순위,player\n100m,1,Ann\n100m,실격,Bo\n100m,불참,Cy\n", {"columns": "place=순위,race=종목"}, {"100m": "Ann | Bo"}, "1 × '불참' as not an entrant"),
    "entrants without a name in several lines": ("Event,parkrunner,Position\n1,Ann,1\n1,Unknown,2\n1,Unknown,3\n2,Ann,1\n2,Unknown,2\n", {}, {"1": "Ann deleted account deleted account", "2": "Ann deleted account"}, "3 lines without a name, ranked but not rated"),
    "a date called Data": ("Bieg,Data,Zawodnik,Miejsce\na,06.04.2025,Ann,1\na,06.04.2025,Bo,2\nb,30.03.2025,Bo,1\nb,30.03.2025,Ann,2\n", {}, {"a": "Ann Bo", "b": "Bo Ann"}, "first race: 'b', 2025-03-30"),
    "numbers of which one differs": ("race,player,place\n4 w1,Ann,1\n4 w1,Bo,2\n4 w3,Ann,1\n4 w3,Bo,2\n4 w2,Bo,1\n4 w2,Ann,2\n", {}, {"4 w1": "Ann Bo", "4 w2": "Bo Ann", "4 w3": "Ann Bo"}, "in the order of their numbers"),
    "a name of another kind": ("name,name2,place\nCup,Ann,1\nCup,Bo,2\n", {"columns": "player=name2"}, {"t": "Ann Bo"}, "columns not used: 'name'"),
    "places by date": ('{"2025-01-04": {"1": "Ann", "2": ["Bo", "Cy"], "dnf": ["Di"]}, "2025-01-11": {"1": "Di", "2": "Ann"}}', {}, {"2025-01-04": "Ann Bo=Cy | Di", "2025-01-11": "Di Ann"}, "ended_at=date"),
    "a line of wins": ("Date,Ann,Bo\n2024-01-05,10,8\n2024-01-12,7,9\nWins,1,1\n", {"columns": "cells=score"}, {"2024-01-05": "Ann Bo", "2024-01-12": "Bo Ann"}, "1 line without a result"),
    "a database's nothing, letters and gaps": ("raceId,driverId,position,positionText,time\n18,Ann,1,1,1:34:50.6\n18,Bo,2,2,+5.478\n18,Cy,\\N,R,\\N\n18,Di,\\N,D,\\N\n", {}, {"18": "Ann Bo | Cy Di"}, "1 × 'R' as not finished, 1 × 'D' as disqualified"),
    "gaps in time": ("race,player,time\ns,Ann,4:10:22\ns,Cy,+1:03\ns,Bo,+0:12\ns,Di,DNF\n", {}, {"s": "Ann Bo Cy | Di"}, ""),
    "one person, spelled in two ways": ("race,player,place\nr,Zoë Lee,1\nr,Bo,2\ns,zoe  lee,1\ns,BO,2\n", {}, {"r": "Zoë Lee Bo", "s": "Zoë Lee Bo"}, "one person each: 'zoe  lee' and 'Zoë Lee', 'BO' and 'Bo'; --exact-names"),
    "exact names": ("race,player,place\nr,Ann,1\nr,ann,2\n", {"exact_names": True}, {"r": "Ann ann"}, ""),
    "a club or an employer": ("race,rider,team,place\ns,Ann,Red,1\ns,Bo,Blue,2\ns,Cy,Red,3\ns,Di,Blue,4\n", {}, {"s": "Ann Bo Cy Di"}, "column 'team': teammates have different results, so each is rated alone"),
    "a sign for no finish": ("race,player,time\na,Ann,1:00:00\na,Bo,23:59:59\na,Cy,23:59:59\n", {}, {"a": "Ann Bo=Cy"}, "2 × 23:59:59, apart from the rest: if that means no finish, add --words dnf=23:59:59"),
    "words of one's own in one option": ('race,player,time\na,Ann,1:00:00\na,Bo,23:59:59\na,Cy,"oops, late"\na,Di,0\n', {"words": "dnf=23:59:59|oops, late,0=dns"}, {"a": "Ann | Bo Cy"}, "1 × 'oops, late' as not finished"),
    "words of one's own": ('race,player,time\na,Ann,1:00:00\na,Bo,23:59:59\na,Cy,"oops, late"\na,Di,0\n', {"words": ["dnf=23:59:59", "dnf=oops, late", "0=dns"]}, {"a": "Ann | Bo Cy"}, "1 × 'oops, late' as not finished"),
    "places of a race that nobody finished": ("race,player,time,place\na,Ann,DNF,1\na,Bo,DNF,2\nb,Bo,9:00,1\nb,Ann,DNF,2\n", {}, {"a": "Ann Bo", "b": "Bo Ann"}, "the place counts, since places rank a race that nobody finished"),
    "a place beside a word for no finish": ("race,player,time,place\nb,Bo,9:00,1\nb,Ann,DNF,2\n", {}, {"b": "Bo | Ann"}, "not finished (1 line"),
    "more laps before a shorter time": ("race,driver,laps,time\na,Ann,120,3:05\na,Bo,119,3:01\na,Cy,120,3:04\n", {}, {"a": "Cy Ann Bo"}, "player=driver"),
    "a place as a sign for no finish": ("race,player,place\na,Ann,1\na,Bo,2\na,Cy,99\n", {}, {"a": "Ann Bo Cy"}, "1 × 99, apart from the rest: if that means no finish, add --words dnf=99"),
    "names in two columns": ("Lauf;Platz;Name;Vorname\n1;1;Lee;Ann\n1;2;Ray;Bo\n2;1;Lee;Cy\n", {}, {"1": "Ann Lee Bo Ray", "2": "Cy Lee"}, "player=Vorname+Name"),
    "a first place with a gap of zero": ("race,player,time\na,Ann,0\na,Bo,+1.5\n", {}, {"a": "Ann Bo"}, ""),
    "a row of averages": ("player,r1,r2\nAnn,1,2\nBo,2,1\nAverage,1.5,1.5\n", {}, {"r1": "Ann Bo", "r2": "Bo Ann"}, "1 line without a result"),
    "words of other sports": ("race,player,place\na,Ann,1\na,Bo,OCS\na,Cy,DNC\na,Di,OTL\na,Ed,DNF1\n", {}, {"a": "Ann | Bo Di Ed"}, "1 × 'DNC' as"),
    "words for no result": ("race,player,place\na,Ann,1\na,Bo,Ret\na,Cy,-\na,Di,\na,Ed,dq\na,Fi,DNS\n", {}, {"a": "Ann | Bo Cy Di Ed"}, "1 line of entrants without a result, who count as not finished (the first is line 5)"),
    "a byte order mark and quoted commas": ('\ufeffrace,player,time\n"r, first","Ann, Lee",10\n', {}, {"r, first": "Ann, Lee"}, ""),
    "racebot's own changes with hidden players": ("race,ended_at,player,name,place,before,finish_time\norb/r,2026-03-01,id-ann,Ann,1,0,60.5\norb/r,2026-03-01,,hidden player,2,0,61\norb/r,2026-03-01,,hidden player,,0,\n", {}, {"orb/r": "Ann deleted account | deleted account"}, "2 lines without a name, ranked but not rated"),
    "headers with spaces": ("Event,Car No,Driver,Pos.,Finish Time\na,7,Ann,T1,9\na,8,Bo,=1,9\na,9,Cy,3rd=,10\n", {}, {"a": "Ann=Bo Cy"}, ""),
    "a column that is not wanted": ("race,player,time,place\na,Ann,x,1\na,Bo,y,2\n", {"columns": "time="}, {"a": "Ann Bo"}, "not used: 'time'"),
    "an id beside a name": ("race,ID,Driver,place\na,1,Lee,1\na,2,Lee,2\n", {"columns": "player=ID,name=Driver"}, {"a": "Lee Lee"}, ""),
    "some rows": ("session,player,place\nRACE,Ann,1\nQ,Bo,1\nRACE,Bo,2\n", {"where": "session=RACE"}, {"t": "Ann Bo"}, "1 line left out by --where"),
    "the first attempt": ("race,player,time\na,Ann,20\na,Ann,10\na,Bo,15\n", {"twice": "first"}, {"a": "Bo Ann"}, "1 line left out by --twice first"),
    "the best attempt": ("race,player,time\na,Ann,20\na,Ann,10\na,Bo,15\n", {"twice": "best"}, {"a": "Ann Bo"}, ""),
    "the best attempt where the lowest wins": ("player,score\nAnn,70\nAnn,68\nBo,69\n", {"twice": "best", "lowest_wins": True}, {"t": "Ann Bo"}, ""),
    "a line given twice": ("race,player,time\na,Ann,20\na,Ann,20\na,Bo,15\n", {}, {"a": "Bo Ann"}, "1 line given twice"),
    "runners without a name": ("race,player,place\na,,1\na,Ann,2\na,Anonymous,3\na,Bo,4\n", {}, {"a": "deleted account Ann deleted account Bo"}, "2 lines without a name"),
    "a race named by its date": ("date,player,place\n2026-03-01,Ann,1\n2026-03-01,Bo,2\n2026-03-08,Bo,1\n", {}, {"2026-03-01": "Ann Bo", "2026-03-08": "Bo"}, ""),
    "heats of an event": ("Event;Heat;Lane;Swimmer;Result Time;Place\n50 m;1;3;Ann;28,1;1\n50 m;1;4;Bo;DSQ;\n50 m;2;3;Cy;27,9;1\n50 m;2;4;Di;NS;\n50 m;2;5;Ed;28,9;2\n", {}, {"50 m 1": "Ann | Bo", "50 m 2": "Cy Ed"}, "race=Event+Heat"),
    "legs of darts": ("Date,Home,Away,Legs Home,Legs Away\n2026-01-03,Ann,Bo,6,4\n2026-01-10,Bo,Ann,5,5\n2026-01-17,Ann,Bo,,\n", {}, {"t-000002": "Ann Bo", "t-000003": "Ann=Bo"}, "1 line without a result"),
    "a count of players beside teams": ("Teilnehmer,Team,Punkte\n4,Ann,5\n5,Bo,7\n4,Cy,9\n", {}, {"t": "Cy Bo Ann"}, "not used: 'Teilnehmer'"),
    "a draw without a winner": ("team_a,team_b,score,winner\nAnn,Bo,2-1,Ann\nBo,Ann,1-1,\n", {}, {"t-000002": "Ann Bo", "t-000003": "Ann=Bo"}, ""),
    "a log with other lines": ('{"type":"start","lobby":"L"}\n{"lobby":"L","user":"Ann","rank":1}\n{"lobby":"L","user":"Bo","rank":2}\n', {}, {"L": "Ann Bo"}, "1 line without a result"),
    "lists within objects": ('{"data":{"runs":[{"place":1,"run":{"players":[{"name":"Ann"}]}},{"place":2,"run":{"players":[{"name":"Bo"}]}}]}}', {}, {"t": "Ann Bo"}, ""),
    "the time of the line above": ("rider,time\nAnn,4:10:22\nBo,s.t.\nCy,+0:12\nDi,s.t.\n", {}, {"t": "Ann=Bo Cy=Di"}, ""),
    "a word for a finish without a time": ("race,player,place,time\na,Ann,1,9:00\na,Bo,2,late\n", {"words": "done=late"}, {"a": "Ann Bo"}, "1 × 'late' as finished"),
    "names of columns again in the last line": ("Pos,Driver\n1,Ann\n2,Bo\nPos,Driver\n", {}, {"t": "Ann Bo"}, ""),
    "a winner's name as the result": ("Uitdager,Tegenstander,Naam\nAnn,Bo,Bo\nBo,Ann,Bo\n", {"columns": "player1=Uitdager,player2=Tegenstander,result=Naam"}, {"t-000002": "Bo Ann", "t-000003": "Bo Ann"}, ""),
    "tables with names of columns again below titles": ("Session: 3 March 2026\nRank,Pair,Max\n1,Ann,9\n2,Bo,9\nSession: 4 March 2026\nRank,Pair,Max\n1,Bo,9\n2,Ann,9\n", {"columns": "player=Pair"}, {"Session: 3 March 2026": "Ann Bo", "Session: 4 March 2026": "Bo Ann"}, ""),
    "a column for each player": ("Race,Date,Ann,Bo,Cy\nr1,2026-03-01,1,2,DNF\nr2,2026-03-08,2,1,\n", {}, {"r1": "Ann Bo | Cy", "r2": "Bo Ann"}, "a column for each player, with places: 'Ann', 'Bo', 'Cy'"),
    "titles and counts within": ("Pos,Driver,Laps\n1,Ann,9\nNot classified\nDNF,Bo,3\n,Entries,2\n", {}, {"t": "Ann | Bo"}, "1 line without a result (the first is line 3)"),
    "games of teams with names": ('{"matches": [{"homeTeam": {"id": 1, "name": "Ann"}, "awayTeam": {"id": 2, "name": "Bo"}, "score": {"home": 0, "away": 2}}]}', {}, {"t-000002": "Bo Ann"}, "a race of two"),
    "JSON of GraphQL": ('{"edges": [{"node": {"rank": 1, "player": {"name": "Ann"}, "status": "FINISHED"}}, {"node": {"rank": 2, "player": {"name": "Bo"}, "status": "FORFEIT"}}]}', {}, {"t": "Ann | Bo"}, "1 × 'FORFEIT'"),
    "JSON of columns": ('{"race": {"0": "A", "1": "A"}, "driver": {"0": "Ann", "1": "Bo"}, "pos": {"0": 2, "1": 1}}', {}, {"A": "Bo Ann"}, "place=pos"),
    "counts beside dates, and equals in French": ("Nom,3/3/2026,13/3/2026,Played\nAnn,1er,2,2\nBo,2ème ex,1,2\nCy,2ème ex aequo,-,1\n", {}, {"3/3/2026": "Ann Bo=Cy", "13/3/2026": "Bo Ann"}, "not used: 'Played'"),
    "places from 0": ("race,player,rank\na,Ann,0\na,Bo,1\na,Cy,-1\n", {"columns": "score=rank", "lowest_wins": True}, {"a": "Cy Ann Bo"}, "1 × -1, apart from the rest: if that means no finish, add --words dnf=-1"),
    "dates in the second row": ("Driver,Spa,Imola\n,2026-03-08,2026-03-01\nAnn,1,2\nBo,2,1\n", {}, {"Spa": "Ann Bo", "Imola": "Bo Ann"}, ""),
    "scores in columns, by their kind": ("Player,G1,G2\nAnn,25,18\nBo,18,25\n", {"columns": "cells=score"}, {"G1": "Ann Bo", "G2": "Bo Ann"}, "a column for each race, with scores"),
    "winner and loser": ("date,winner,loser,draw\n2026-03-01,Ann,Bo,\n2026-03-02,Bo,Cy,yes\n", {}, {"t-000002": "Ann Bo", "t-000003": "Bo=Cy"}, "a race of two"),
    "a result of two": ("White,Black,Result\nAnn,Bo,1-0\nBo,Ann,½-½\nAnn,Bo,0-1\n", {}, {"t-000002": "Ann Bo", "t-000003": "Ann=Bo", "t-000004": "Bo Ann"}, ""),
    "goals": ("match,home_team,away_team,home_score,away_score\n1,Ann,Bo,2,3\n1,Ann,Bo,1,1\n", {}, {"1": "Bo Ann", "1 (2)": "Ann=Bo"}, ""),
    "players in order": ("date,1st,2nd,3rd\n2026-03-01,Ann,Bo,Cy\n2026-03-02,Bo,Ann,\n", {}, {"t-000002": "Ann Bo Cy", "t-000003": "Bo Ann"}, "in order from '1st' to '3rd'"),
    "a German table with titles, totals and a club": ("Liga;;;;;;\n;;;;;;\nPlatz;Fahrer;Verein;Lauf 1;Lauf 2;Gesamt\n1;Jürgen;RC;1;2;67\n2;Zoë;MSC;2;1;43\n3;Bo;RC;3;n.a.;34\n4;Cy;;DNF;Ausfall;32\n", {}, {"Lauf 1": "Jürgen Zoë Bo | Cy", "Lauf 2": "Zoë Jürgen | Cy"}, "with places: 'Lauf 1', 'Lauf 2'"),
    "the time of the rider above": ("Stage,Rnk,Rider,Time\n1,1,Ann,4:10:22\n1,2,Bo,s.t.\n1,3,Cy,+ 0:12\n1,DNF,Di,\n", {}, {"1": "Ann Bo Cy | Di"}, ""),
    "games that are not played": ("week;Player A;Player B;Winner\nQF;Ann;Bo;Ann\nSF;Cy;bye;Cy\nF;Ann;Cy;\n", {}, {"QF": "Ann Bo"}, "1 line of games not played: 'bye' (the first is line 3)"),
    "JSON lines with comments": ('{"player": "Ann", "place": 1}\n\n# Bo\n// was late\n{"player": "Bo", "place": 2}\n', {}, {"t": "Ann Bo"}, ""),
    "words in other spellings": ("race,player,place\na,Ann,1\na,Bo,D.N.F.\na,Cy,DNF (engine)\na,Di,DQ'd\na,Ed,n.p.\n", {}, {"a": "Ann | Bo Cy Di"}, "2 × 'DNF' as not finished"),
    "numbers as statuses": ("player,place,status\nAnn,1,1\nBo,2,3\n", {}, {"t": "Ann Bo"}, "2 numbers in the column of statuses not read"),
    "units and a total": ("player,time\n,(min)\nAnn,10\nBo,12\nTotal,22\n", {}, {"t": "Ann Bo"}, "1 line of a total (the first is line 5)"),
    "dates with spaces, and in Chinese": ("date,player,place\n4. 4. 2026,Ann,1\n4. 4. 2026,Bo,2\n2026年3月7日,Bo,1\n2026年3月7日,Ann,2\n", {}, {"4. 4. 2026": "Ann Bo", "2026年3月7日": "Bo Ann"}, "first race: '2026年3月7日', 2026-03-07"),
    "invisible marks in names": ("race,player,place\na,\u200bAnn,1\na,Bo,2\nb,Ann\u200f,2\nb,Bo,1\n", {}, {"a": "Ann Bo", "b": "Bo Ann"}, ""),
    "thousands of empty columns": (f"player,place{',' * 9_000}\nAnn,2{',' * 9_000}\nBo,1\n", {}, {"t": "Bo Ann"}, ""),
    "a cup beside races": ("Player,Cup,R1,R2\nAnn,Gold,1,2\nBo,Gold,2,1\n", {}, {"R1": "Ann Bo", "R2": "Bo Ann"}, "columns not used: 'Cup'"),
    "a number beside races": ("Player,Form,Spa,Imola\nAnn,95,1,2\nBo,87,2,1\n", {"columns": "unused=Form"}, {"Spa": "Ann Bo", "Imola": "Bo Ann"}, "columns not used: 'Form'"),
    "a race that is like a number of chairs": ("Player,Chair,Spa\nAnn,1,2\nBo,2,1\nCy,3,3\nDi,4,4\n", {"columns": "unused="}, {"Chair": "Ann Bo Cy Di", "Spa": "Bo Ann Cy Di"}, ""),
    "columns in the order of races": ("name,R1,R2,R3\nAnn,1,,1\nBo,2,1,\nCy,3,2,2\n", {}, {"R1": "Ann Bo Cy", "R2": "Bo Cy", "R3": "Ann Cy"}, ""),
    "races in the order of their numbers": ("race,player,place\nr 2,Ann,1\nr 10,Ann,2\nr 1,Bo,1\nr 2,Bo,2\nr 10,Bo,1\n", {}, {"r 1": "Bo", "r 2": "Ann Bo", "r 10": "Bo Ann"}, "in the order of their numbers"),
    "dates in words above columns": ("Runner,3 Jan 2026,10 Jan 2026,Runs\nAnn,21:05,20:59,2\nBo,21:40,22:10,2\n", {"columns": "unused=Runs"}, {"3 Jan 2026": "Ann Bo", "10 Jan 2026": "Ann Bo"}, ""),
    "signs for yes and no": ("race,player,time,Finished?,DNS\n1,Ann,20:00,✓,nein\n1,Bo,21:00,1,0\n1,Cy,10:00,✗,0\n1,Di,9:00,0,-\n1,Ed,8:00,1,ja\n", {}, {"1": "Ann Bo | Cy Di"}, "2 × 'not finished' as not finished, 1 × 'dns' as not an entrant"),
    "a standing after all races": ("race,player,place\nStage 1,Ann,1\nStage 1,Bo,2\nOverall,Bo,1\nOverall,Ann,2\n", {}, {"Stage 1": "Ann Bo"}, "no race, but the standing after all: 'Overall'"),
    "a count of players before those in order": ("Date,Players,1st,2nd\n2026-03-01,8,Ann,Bo\n", {}, {"t-000002": "Ann Bo"}, "not used: 'Players'"),
    "a winner by the name of a column": ('{"games": [{"p1": "Ann", "p2": "Bo", "winner": "p2"}]}', {}, {"t-000002": "Bo Ann"}, ""),
    "a race named by a date, too": ("race,day,player,place\nSpa,2026-03-08,Ann,1\nSpa,2026-03-01,Bo,1\n", {"columns": "race=race+day"}, {"Spa 2026-03-08": "Ann", "Spa 2026-03-01": "Bo"}, "ended_at=day"),
    "codes with points": ("Helm,R1,R2\nAnn,1,2\nBo,2,(DNF 3)\nCy,DNC 3,1\n", {}, {"R1": "Ann Bo", "R2": "Cy Ann | Bo"}, "1 × 'DNC' as not an entrant"),
    "the gap of the leader": ("Pos;Driver;Interval\n1;Ann;-\n2;Bo;+0.4\n3;Cy;-\n", {}, {"t": "Ann Bo | Cy"}, ""),
    "times that are left": ("team,left\nAnn,3:05\nBo,12:30\n", {"columns": "player=team,score=left"}, {"t": "Bo Ann"}, ""),
    "a time of the winner only": ("race,player,points,time\n1,Ann,2,\n1,Bo,3,60.1\n1,Cy,0,\n", {}, {"1": "Bo Ann Cy"}, "not used: 'time'"),
    "statuses with more words": ("player,place,status\nAnn,1,ok\nBo,2,Retired on lap 5\n", {}, {"t": "Ann | Bo"}, "1 × 'Retired on lap 5' as not finished"),
    "several signs for no finish": ("player,place\nAnn,1\nBo,2\nCy,9998\nDi,9999\n", {}, {"t": "Ann Bo Cy Di"}, "add --words \"dnf=9998|9999\""),
    "races below their titles": ("Pos,Name,Time\nRace 1,,\n1,Ann,20:10\n2,Bo,20:20\nRace 2,,\nPos,Name,Time\n1,Bo,20:00\nDNS,Ann,\n", {}, {"Race 1": "Ann Bo", "Race 2": "Bo"}, "races named by the lines above them"),
    "races with dates in their titles": ("## Spa – 3 June 2026\nName,Time\nAnn,20:10\nBo,20:20\n\n## Imola – 1 June 2026\nName,Time\nBo,20:00\nAnn,21:00\n", {}, {"Spa – 3 June 2026": "Ann Bo", "Imola – 1 June 2026": "Bo Ann"}, "last race: 'Spa – 3 June 2026', 2026-06-03"),
    "titles that say how entrants ended": ("Rank;Bib;Name;Run 1;Run 2;Total\n1;3;Ann;1:01;1:02;2:03\n2;7;Bo;1:02;1:02;2:04\nDisqualified 2nd run;;;;;\n;5;Cy;1:01;;\nDid not start 1st run;;;;;\n;9;Di;;;\n", {"layout": "long"}, {"t": "Ann Bo | Cy"}, "1 × 'disqualified' as disqualified, 1 × 'did not start' as not an entrant"),
    "titles of races and of those who did not finish": ("Pos,Name,Time\nSpa,,\n1,Ann,20:10\nNot classified,,\n,Cy,\nImola,,\n1,Bo,20:00\n,Cy,DNF\n", {}, {"Spa": "Ann | Cy", "Imola": "Bo | Cy"}, "1 × 'not classified' as not finished"),
    "third parts of a second behind a colon or a point": ("player;time\nAnn;1:58:345\nBo;1:58.9\nCy;1.57,88\n", {}, {"t": "Cy Ann Bo"}, ""),
    "milliseconds around a thousand seconds": ("player,time\nAnn,995000\nBo,1001000\n", {}, {"t": "Ann Bo"}, "Ann 0:16:35 > Bo 0:16:41"),
    "races of one name, a line each": ("Game,Date,Club,Winner,2nd\nCatan,2026-03-04,x,Ann,Bo\nCatan,2026-03-04,x,Cy,Ann\n", {}, {"Catan": "Ann Bo", "Catan (2)": "Cy Ann"}, "each line is a race"),
    "a place and a time in a cell": ("Name,Result\nAnn,1 (12:30)\nCy,DNF (0:00)\nBo,2 (12:40)\n", {"columns": "place=Result"}, {"t": "Ann Bo | Cy"}, ""),
    "no-break spaces in numbers": ("player,score\nAnn,1\u00a0250\nBo,980\nCy,1\u202f050\n", {}, {"t": "Ann Cy Bo"}, ""),
    "parts of a number": ("Player,Mon,Tue\nAnn,3/6,X/6\nBo,4/6,2/6\n", {"columns": "cells=score", "lowest_wins": True, "words": "dnf=X/6"}, {"Mon": "Ann Bo", "Tue": "Bo | Ann"}, ""),
    "seasons with numbers of races": ("Season,Round,Pos,Driver\n2025,1,1,Cy\n2024,1,1,Ann\n2024,2,1,Bo\n", {}, {"2024 1": "Ann", "2024 2": "Bo", "2025 1": "Cy"}, "in the order of their numbers"),
    "two marks, and points in brackets": ("Pos.,Driver,AUS,BHR\n1,Ann,1P F,2 (80)\n2,Bo,2,1 (100)\n", {"layout": "players"}, {"AUS": "Ann Bo", "BHR": "Bo Ann"}, ""),
    "Japanese": ("回,順位,名前\n1,1位,田中\n1,2位,鈴木\n", {}, {"1": "田中 鈴木"}, "place=順位"),
    "n.a. as an absence": ("race,player,place\na,Ann,1\na,Bo,n.a.\n", {"words": "dns=n.a."}, {"a": "Ann"}, "read 1 × 'n.a.' as not an entrant"),
    "discards": ("Rank,Helm,R1,R2,Nett\n1,Ann,1,[2.0],1\n2,Bo,(3 DNC),1,1\n", {}, {"R1": "Ann", "R2": "Bo Ann"}, "columns not used: 'Rank', 'Nett'"),
    "a column of forfeits": ("Home,Away,Score,Forfeit\nAnn,Bo,2-1,no\nBo,Ann,0-0,yes\n", {}, {"t-000002": "Ann Bo"}, "1 line without a result"),
    "a table of iRacing": ("Track\nSpa\n\nFin Pos,Team ID,Cust ID,Name,Out,Interval,Laps Led,Fast Lap#,Inc,Club ID\n1,-1,7,Ann,Running,-00.000,3,2,0,1\n2,-1,8,Bo,Running,-03.500,0,4,2,1\n3,-1,9,Cy,Disconnected,-4L,0,3,8,1\n", {}, {"t": "Ann Bo | Cy"}, "2 lines above the names"),
    "races below merged months": ("Driver,January,,February,\n,Race 1,Race 2,Race 3,Race 4\nAnn,1,2,1,2\nBo,2,1,DNF,1\n", {}, {"Race 1": "Ann Bo", "Race 2": "Bo Ann", "Race 3": "Ann | Bo", "Race 4": "Bo Ann"}, "names of columns in two lines"),
    "races of one name below merged cells": ("League\nDriver,Spa,,Imola,\n,R1,R2,R1,R2\nAnn,1,2,1,2\nBo,2,1,2,1\n", {}, {"Spa R1": "Ann Bo", "Spa R2": "Bo Ann", "Imola R1": "Ann Bo", "Imola R2": "Bo Ann"}, "1 line above the names"),
    "places and points of each race": ("Driver,Spa,Spa,Imola,Imola\n,Pts,Pos,Pts,Pos\nAnn,25,1,18,2\nBo,18,2,25,1\n", {"columns": "cells=place,unused=Spa Pts+Imola Pts"}, {"Spa Pos": "Ann Bo", "Imola Pos": "Bo Ann"}, "columns not used: 'Spa Pts', 'Imola Pts'"),
    "teams above players": ("Race,Red,,Blue,\n,Ann,Bo,Cy,Di\nr1,1,2,3,4\n", {}, {"r1": "Ann Bo Cy Di"}, "a column for each player"),
    "merged cells of races": ("Season,Race,Pos,Driver\n1,Spa,1,Ann\n,,2,Bo\n,Imola,1,Bo\n,,2,Ann\n", {}, {"1 Spa": "Ann Bo", "1 Imola": "Bo Ann"}, "3 lines without a race or a date (the first is line 3)"),
    "two who share a place": ("1st,2nd,3rd\nAnn / Cy,Bo,\nBo,Al / Di,Cy & Ann\nAnn,Bo,Cy\n", {}, {"t-000002": "Ann=Cy Bo", "t-000003": "Bo Al / Di Ann=Cy", "t-000004": "Ann Bo Cy"}, ""),
    "football": ("Date,HomeTeam,AwayTeam,FTHG,FTAG,FTR\n13/08/2025,Ann,Bo,0,1,A\n14/08/2025,Bo,Ann,1,1,D\n15/08/2025,Bo,Ann,1,0,H\n", {}, {"t-000002": "Bo Ann", "t-000003": "Ann=Bo", "t-000004": "Bo Ann"}, "not used: 'FTHG', 'FTAG'"),
    "two players with other names of columns": ("a,b,won\nAnn,Bo,0-1\n", {"columns": "player1=a,player2=b,result=won"}, {"t-000002": "Bo Ann"}, "a race of two, 'a' and 'b'"),
    "signs of thousands": ("race,player,score\na,Ann,1.234.567\na,Bo,950\n", {}, {"a": "Ann Bo"}, ""),
    "a word for no start beside one for no finish": ("Pos,Driver,Time\n1,Ann,9:00\nNC,Bo,DNF\nNC,Cy,DNS\n", {}, {"t": "Ann | Bo"}, "1 × 'DNS' as not an entrant"),
    "JSON by dates": ('{"2026-03-01": {"Ann": 1, "Bo": 2}, "2026-03-08": {"Ann": 2, "Bo": 1}}', {"layout": "races"}, {"2026-03-01": "Ann Bo", "2026-03-08": "Bo Ann"}, "a column for each player"),
    "JSON by races": ('{"a": ["Ann", "Bo"], "b": ["Bo", "Ann"]}', {}, {"a": "Ann Bo", "b": "Bo Ann"}, ""),
    "JSON of one numbered race, with equals": ('{"Race 1": {"order": ["Ann", ["Bo", "Cy"], "Di"]}}', {}, {"Race 1": "Ann Bo=Cy Di"}, ""),
    "JSON of players by side": ('[{"players": {"white": "Ann", "black": "Bo"}, "winner": "black"}]', {}, {"t-000002": "Bo Ann"}, "a race of two"),
    "nested JSON whose races have names, and its drivers": ('{"rounds": [{"name": "a", "results": [{"driver": "Ann", "pos": 1}, {"driver": "Bo", "pos": 2}]}]}', {}, {"a": "Ann Bo"}, "player=driver"),
    "JSON of places by name": ('{"events": [{"name": "a", "results": {"Ann": 1, "Bo": 2}}, {"name": "b", "results": {"Bo": "58:10", "Ann": "DNF"}}]}', {}, {"a": "Ann Bo", "b": "Bo | Ann"}, ""),
    "JSON of a player's races": ('[{"name": "Ann", "results": {"R1": 1, "R2": 2}}, {"name": "Bo", "results": {"R1": 2, "R2": 1}}]', {}, {"results R1": "Ann Bo", "results R2": "Bo Ann"}, ""),
    "a number of a race beside its players": ("id,date,Ann,Bo\n1,2026-03-01,1:02:00,DNF\n2,2026-03-02,1:00:00,59:00\n", {}, {"2026-03-01": "Ann | Bo", "2026-03-02": "Bo Ann"}, "not used: 'id'"),
    "times of stages beside their sum": ("Rider,Stage 1,Stage 2,GC\nAnn,4:00:00,3:00:00,7:00:00\nBo,4:01:00,2:58:00,6:59:00\n", {}, {"Stage 1": "Ann Bo", "Stage 2": "Bo Ann"}, "not used: 'GC'"),
    "other words in names of columns": ("Timestamp,Your nick,What place?\n3/1/2026,Ann,1st\n3/2/2026,Bo,DNF\n", {}, {"t": "Ann | Bo"}, "player=Your nick, place=What place?"),
    "a finish of places": ("Race,Member No,Runner Name,Finish\na,1,Ann,2\na,2,Bo,1\n", {}, {"a": "Bo Ann"}, "place=Finish"),
    "names written together": ('[{"driverName": "Ann", "finishTimeMs": 61000}, {"driverName": "Bo", "finishTimeMs": 60000}]', {}, {"t": "Bo Ann"}, "time=finishTimeMs"),
    "crews": ("Place,Lane,Crew,Time\n1,3,Ann/Bo,6:10.2\n2,2,Cy/Di,6:11.9\n", {}, {"t": "Ann/Bo Cy/Di"}, "player=Crew"),
    "gaps with a minus": ("Fin Pos,Name,Out Status,Interval\n1,Ann,Running,0\n2,Bo,Running,-1.5\n3,Di,Running,-1L\n4,Cy,Disconnected,-5L\n", {}, {"t": "Ann Bo Di | Cy"}, "status=Out Status"),
    "a time that is no time beside a place": ("place,name,time\n1,Ann,6:10.2x\n2,Bo,6:1o.9\n3,Cy,DNF\n", {}, {"t": "Ann Bo | Cy"}, "2 lines with a time that is not understood beside its place"),
    "scores between two players": ("Player A,Score A,Score B,Player B\nAnn,3,1,Bo\nBo,2,2,Cy\n", {}, {"t-000002": "Ann Bo", "t-000003": "Bo=Cy"}, ""),
    "JSON of finishers in order": ('{"races": [{"name": "a", "dnf": ["Cy"], "order": ["Ann", "Bo"]}, {"name": "b", "order": ["Bo", "Ann"]}]}', {}, {"a": "Ann Bo | Cy", "b": "Bo Ann"}, ""),
    "SportIdent": ("Stno;SI card;Surname;First name;YB;nc;Start;Finish;Time;Classifier;Place\n12;8001;Lee;Ann;1990;0;10:00:00;10:45:10;45:10;0;1\n13;8002;Ray;Bo;1985;0;10:02:00;10:49:30;47:30;0;2\n14;8003;Fox;Cy;1985;0;10:04:00;;;3;\n", {}, {"t": "Ann Lee Bo Ray | Cy Fox"}, "'Start', 'Finish'"),
    "a time beside times of day": ("Name,Start Time,Finish Time,Time\nAnn,10:00:00,10:41:00,41:00\nBo,10:05:00,10:42:00,37:00\n", {}, {"t": "Bo Ann"}, "not used: 'Start Time'"),
    "a standing beside seeds": ("Final Standing,Seed,Gamertag\n1,2,Ann\n2,1,Bo\n3,4,Cy\n3,3,Di\n", {}, {"t": "Ann Bo Cy=Di"}, "columns not used: 'Seed'"),
    "words in a time beside a place": ("Place,Name,Seed Time,Finals Time\n1,Ann,58.10,57.92\n2,Bo,NT,58.44\n---,Cy,59.00,DQ\n---,Di,59.50,NS\n", {}, {"t": "Ann Bo | Cy"}, "1 × 'DQ' as disqualified, 1 × 'NS' as not an entrant"),
    "dashes of all kinds": ("Player 1,Player 2,Score\nAnn,Bo,3–1\nBo,Cy,1−3\nAnn,Cy,2—2\n", {}, {"t-000002": "Ann Bo", "t-000003": "Cy Bo", "t-000004": "Ann=Cy"}, ""),
    "marks behind a time": ("Runner,Time\nAnn,1:02:03.4 (PB)\nBo,1:01:00q\nCy,1:03:00*\n", {}, {"t": "Bo Ann Cy"}, ""),
    "marks behind a place": ("Pos.,Driver,AUS,BHR\n1,Ann,1PF,2F\n2,Bo,2,1P\n3,Cy,Ret,3†\n", {"layout": "players"}, {"AUS": "Ann Bo | Cy", "BHR": "Bo Ann Cy"}, ""),
    "marks and flags of one person": ("race,player,place\na,🇵🇱 Ann,1\na,Bo,2\nb,Ann*,2\nb,Bo²,1\n", {}, {"a": "🇵🇱 Ann Bo", "b": "Bo 🇵🇱 Ann"}, "one person each: 'Ann*' and"),
    "JSON of numbers beside names": ('{"matches":[{"participants":[{"player":{"id":7,"name":"Ann"},"result":{"placement":1}},{"player":{"id":8,"name":"Bo"},"result":{"placement":2}}]}]}', {}, {"t": "Ann Bo"}, "place=result placement"),
    "words of a game for two": ("match_id,player,result\n1,Ann,win\n1,Bo,loss\n2,Bo,draw\n2,Ann,draw\n", {"columns": "place=result"}, {"1": "Ann Bo", "2": "Ann=Bo"}, ""),
    "words in a result beside a rank": ("Runner,Rank,Result\nAnn,1,28:10\nBo,2,28:30\nCy,,Did not finish\nDi,,Did not start\n", {}, {"t": "Ann Bo | Cy"}, "time=Result"),
    "mean places of equals": ("race,name,rank\n1,Ann,1.5\n1,Bo,1.5\n1,Cy,3\n", {"columns": "score=rank", "lowest_wins": True}, {"1": "Ann=Bo Cy"}, ""),
    "a weekday before a date": ('Date,Name,Place\n"Sunday, March 1, 2026",Ann,1\n"Sunday, March 1, 2026",Bo,2\n', {}, {"Sunday, March 1, 2026": "Ann Bo"}, "ended_at=Date"),
    "others who did not finish": ("Event,1st,2nd,DNF\nSand,Ann,Bo,\"Di, Ed\"\nIce,Bo,Ann,\n", {}, {"Sand": "Ann Bo | Di Ed", "Ice": "Bo Ann"}, "2 × 'dnf' as not finished"),
    "JSON of rounds whose event is called Cup": ('{"event": "Cup", "rounds": [{"round": 1, "standings": [{"pos": 1, "who": {"nick": "Ann"}}, {"pos": 2, "who": {"nick": "Bo"}}]}]}', {}, {"Cup": "Ann Bo"}, "player=who nick"),
    "JSON of players by place": ('[{"race": "a", "standings": {"1": "Ann", "2": "Bo"}}, {"race": "b", "standings": {"1": "Bo", "2": "Ann"}}]', {}, {"a": "Ann Bo", "b": "Bo Ann"}, ""),
    "a column of heats without any": ("Rank,Name,Phase,Heat,Result\n1,Ann,Final,,50:02\n2,Bo,Final,,+0:12\n", {}, {"t": "Ann Bo"}, "not used: 'Phase', 'Heat'"),
    "columns of two players with one name": ("Rd.;White;Rtg;Pts.;Result;Pts.;Black;Rtg\n1;Ann;9;0;1 - 0;0;Bo;8\n2;Bo;8;0;+ - -;1;Ann;9\n", {}, {"t-000002": "Ann Bo"}, "1 line of games not played: '+ - -'"),
    "footnotes of web pages": (",Pos.,Rider,Time/Retired\n0,1,Ann,39:37.2\n1,2,Bo,+1.7\n2,Report,Report,Report\n", {}, {"t": "Ann Bo"}, "1 line without a name, and not understood"),
    "JSON of those who did not finish": ('[{"race": "a", "finishers": [{"driver": {"id": 1, "name": "Ann"}, "time": "12:00"}], "retired": [{"driver": {"id": 2, "name": "Bo"}, "time": "3:11"}]}, {"race": "b", "results": [{"driver": {"id": 2, "name": "Bo"}, "pos": 1}], "dnf": ["Ann"]}]', {"where": "part=finishers|retired|dnf|results"}, {"a": "Ann | Bo", "b": "Bo | Ann"}, "1 × 'retired' as not finished, 1 × 'dnf' as not finished"),
    "one of two lists in JSON": ('{"round": 1, "grid": [{"driver": "Bo", "pos": 1}], "race": [{"driver": "Ann", "pos": 1, "laps": [{"time": 9}]}]}', {"where": "part=race"}, {"1": "Ann"}, "1 line left out by --where"),
    "JSON of players by name": ('{"players": {"Ann": {"country": "US", "results": [{"race": "a", "place": 1}]}, "Bo": {"results": [{"race": "a", "place": "dnf"}]}}}', {}, {"a": "Ann | Bo"}, "1 × 'dnf'"),
    "JSON of seasons and numbered rounds": ('{"2024": {"rounds": {"1": {"results": {"Ann": 1, "Bo": 2}}}}, "2025": {"rounds": {"1": {"results": {"Bo": 1, "Ann": 2}}}}}', {}, {"2024 1": "Ann Bo", "2025 1": "Bo Ann"}, "race=season+race"),
    "a small table above another": ("Start Time,Track,Season\n2026-03-01,Spa,2026\n\nFin Pos,Name,Inc\n1,Ann,0\n2,Bo,4\n", {}, {"t": "Ann Bo"}, "place=Fin Pos"),
    "marks of Markdown": ("|Pos|Player|\n|--|--|\n|1|**[Ann](u/ann)**|\n|2|`Bo`|\n", {}, {"t": "Ann Bo"}, "separated by |"),
    "marks behind numbers": ("Athlete,Mark\nAnn,10.45 Q\nBo,10.21 PB\n", {"columns": "score=Mark", "lowest_wins": True}, {"t": "Bo Ann"}, "the lowest score wins"),
    "JSON of results by player": ('{"match": 1, "results": {"Ann": {"place": 2, "kills": 9}, "Bo": {"place": 1, "kills": 2}}}\n{"match": 2, "results": {"Ann": {"place": 1, "kills": 9}, "Bo": {"place": 2, "kills": 2}}}', {}, {"1": "Bo Ann", "2": "Ann Bo"}, "not used: 'kills'"),
    "JSON with laps of another name": ('{"track": "Spa", "drivers": [{"name": "Ann", "pos": 1, "raceLaps": [{"pos": 1, "time": 9}]}, {"name": "Bo", "pos": 2, "raceLaps": [{"pos": 2, "time": 9}]}]}', {}, {"Spa": "Ann Bo"}, "lists not used: 'drivers raceLaps'"),
    "JSON with details beside places": ('{"rows": [{"rank": 1, "userName": "Ann", "units": [{"name": "x"}]}, {"rank": 2, "userName": "Bo", "units": [{"name": "y"}]}]}', {}, {"t": "Ann Bo"}, "lists not used: 'rows units'"),
    "JSON of teams with points and lists": ('[{"id": "Ann", "points": 3, "players": ["x"], "starters": ["x", "y"]}, {"id": "Bo", "points": 4, "players": ["z"]}]', {"columns": "player=id"}, {"t": "Bo Ann"}, "player=id"),
    "milliseconds": ("player,time\nAnn,1811000\nBo,1805000\n", {}, {"t": "Bo Ann"}, "Bo 0:30:05 > Ann 0:30:11"),
    "laps of JSON": ('[{"driver": "Ann", "totalTime": 1811000, "lapCount": 17}, {"driver": "Bo", "totalTime": 1805000, "lapCount": 17}, {"driver": "Cy", "totalTime": 640000, "lapCount": 6}]', {}, {"t": "Bo Ann Cy"}, "laps=lapCount"),
    "ranks before names, each with a race": ("Rank,Crew,R1,R2\n1,Ann,1,2\n2,Bo,2,1\n", {"layout": "players"}, {"R1": "Ann Bo", "R2": "Bo Ann"}, "player=Crew"),
    "JSON of winners": ('[{"match": 1, "name": "Ann", "won": true}, {"match": 1, "name": "Bo", "won": false}]', {}, {"1": "Ann Bo"}, "place=won"),
    "lines of a session, with others between": ("session,driver,time\nQ,Ann,9\nR,Ann,90\nQ,Bo,8\nR,Bo,91\n", {"where": "session=R"}, {"t": "Ann Bo"}, "2 lines left out by --where"),
    "JSON of results beside a list of the retired": ('{"events": [{"name": "a", "results": [{"driver": "Ann", "total": "45:10"}, {"driver": "Bo", "total": "45:50"}], "retired": [{"driver": "Cy"}]}]}', {}, {"a": "Ann Bo | Cy"}, "time=total"),
    "tables below headings": ("# Regatta\n\n## Heat 1\n\n| Place | Crew | Time |\n|--|--|--|\n| 1 | Otters | 2:10 |\n| 2 | Pikes | 2:12 |\n\n## Final\n\n| Place | Crew | Time |\n|--|--|--|\n| 1 | Pikes | 2:09 |\n| 2 | Otters | 2:10 |\n", {}, {"Heat 1": "Otters Pikes", "Final": "Pikes Otters"}, "player=Crew"),
    "a line of the middle": ("Corredor,Etapa 1,Etapa 2\nAnn,4:10:00,4:20:00\nBo,4:10:09,4:20:08\nCy,4:10:20,4:20:30\n", {}, {"Etapa 1": "Ann Bo Cy", "Etapa 2": "Ann Bo Cy"}, "a column for each race"),
    "JSON of ids of players and races": ('{"players": [{"id": 1, "name": "Ann", "status": "active"}, {"id": 2, "name": "Bo", "status": "active"}], "races": [{"id": 10, "name": "Spa", "date": "2026-03-01"}, {"id": 11, "name": "Imola", "date": "2026-03-08"}], "results": [{"raceId": 10, "playerId": 1, "position": 1}, {"raceId": 10, "playerId": 2, "position": 2}, {"raceId": 11, "playerId": 2, "position": 1}, {"raceId": 11, "playerId": 1, "position": 2}]}', {}, {"10": "Ann Bo", "11": "Bo Ann"}, "last race: '11', 2026-03-08"),
    "JSON:API": ('{"data": [{"type": "results", "id": "1", "attributes": {"position": 1, "race": "Spa"}, "relationships": {"driver": {"data": {"type": "drivers", "id": "7"}}}}, {"type": "results", "id": "2", "attributes": {"position": 2, "race": "Spa"}, "relationships": {"driver": {"data": {"type": "drivers", "id": "8"}}}}], "included": [{"type": "drivers", "id": "7", "attributes": {"name": "Ann"}}, {"type": "drivers", "id": "8", "attributes": {"name": "Bo"}}]}', {}, {"Spa": "Ann Bo"}, ""),
    "JSON of drivers by number": ('{"drivers": {"44": "Ham", "1": "Max"}, "races": [{"name": "Spa", "order": [44, 1]}, {"name": "Imola", "order": [1, 44]}]}', {}, {"Spa": "Ham Max", "Imola": "Max Ham"}, "lists not used: 'drivers'"),
    "JSON of numbers in order": ('{"drivers": [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bo"}, {"id": 3, "name": "Cy"}], "races": [{"id": 10, "date": "2026-01-03", "finishOrder": [1, 3], "retired": [2]}, {"id": 11, "date": "2026-01-10", "finishOrder": [2, 1, 3], "retired": []}]}', {}, {"2026-01-03": "Ann Cy | Bo", "2026-01-10": "Bo Ann Cy"}, "1 \u00d7 'retired'"),
    "JSON of two of one name, with ids": ('{"players": [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Ann"}], "games": [{"scores": {"1": 5, "2": 7}}]}', {}, {"t": "Ann #2 Ann #1"}, ""),
    "JSON of two sides": ('[{"white": {"user": {"name": "Ann"}, "rating": 9}, "black": {"user": {"name": "Bo"}, "rating": 8}, "winner": "black"}]', {}, {"t-000002": "Bo Ann"}, "a race of two, 'white' and 'black'"),
    "JSON of a score within a game": ('{"resultSet": {"first": "2025-01-11", "last": "2025-02-15"}, "matches": [{"utcDate": "2025-01-11T19:00:00Z", "homeTeam": {"name": "Ann"}, "awayTeam": {"name": "Bo"}, "score": {"winner": "AWAY_TEAM", "fullTime": {"home": 1, "away": 3}}}, {"homeTeam": {"name": "Bo"}, "awayTeam": {"name": "Ann"}, "score": {"winner": null}}]}', {}, {"t-000002": "Bo Ann"}, "1 line without a result"),
    "JSON of games with a sign of each side": ('{"games": [{"end_time": 1741000000, "white": {"username": "Ann", "result": "resigned"}, "black": {"username": "Bo", "result": "win"}}, {"end_time": 1740000000, "white": {"username": "Bo", "result": "agreed"}, "black": {"username": "Ann", "result": "agreed"}}]}', {}, {"t-000002": "Bo Ann", "t-000003": "Ann=Bo"}, "ended_at=end_time"),
    "JSON of a game that was drawn": ('[{"createdAt": 1767603600000, "status": "draw", "players": {"white": {"user": {"name": "Ann"}}, "black": {"user": {"name": "Bo"}}}}]', {}, {"t-000002": "Ann=Bo"}, "first race: 't-000002', 2026-01-05"),
    "JSON of moments of players": ('[{"race": "A", "player": "Ann", "place": 1, "created_at": "2026-01-01T10:00"}, {"race": "A", "player": "Bo", "place": 2, "created_at": "2026-01-01T10:05"}]', {}, {"A": "Ann Bo"}, "no dates"),
    "JSON of teams that are paired by a number": ('[{"roster_id": 1, "matchup_id": 2, "points": 9.5}, {"roster_id": 3, "matchup_id": 2, "points": 8}, {"roster_id": 2, "matchup_id": 1, "points": 7}, {"roster_id": 4, "matchup_id": 1, "points": 9}]', {}, {"1": "4 2", "2": "1 3"}, ""),
    "JSON of games of teams": ('[{"team1": {"players": [{"name": "Ann"}, {"name": "Al"}], "score": 15}, "team2": {"players": ["Bo", "Bea"], "score": 21}}]', {}, {"t-000002": "Bo / Bea Ann / Al"}, ""),
    "JSON of players who won": ('[{"players": [{"name": "Ann", "isWinner": true}, {"name": "Bo", "isWinner": false}]}, {"players": [{"name": "Ann", "isWinner": false}, {"name": "Bo", "isWinner": true}]}]', {}, {"1": "Ann Bo", "2": "Bo Ann"}, "place=isWinner"),
    "JSON of a winner beside players": ('[{"winner": "Bo", "players": [{"name": "Ann"}, {"name": "Bo"}]}]', {}, {"t": "Bo Ann"}, ""),
    "JSON of races by name in seasons": ('{"2024": {"Spa": ["Ann", "Bo"], "Monza": ["Bo", "Ann"]}, "2025": {"Spa": ["Bo", "Ann"]}}', {}, {"2024 Spa": "Ann Bo", "2024 Monza": "Bo Ann", "2025 Spa": "Bo Ann"}, ""),
    "JSON of races of players by name": ('{"races": {"Spa": {"Ann": {"pos": 1}, "Bo": {"pos": 2}}, "Monza": {"Ann": {"pos": 2}, "Bo": {"pos": 1}}}}', {}, {"Spa": "Ann Bo", "Monza": "Bo Ann"}, "place=pos"),
    "JSON of players and a winner": ('[{"players": ["Ann", "Bo", "Cy"], "winner": "Bo", "date": "2026-01-01"}]', {}, {"2026-01-01": "Bo Ann=Cy"}, ""),
    "JSON of places with words for no finish and equals": ('[{"race": "A", "results": {"1": "Ann", "2": "Bo", "dnf": ["Cy"]}}, {"race": "B", "results": {"1": "Cy", "2": ["Bo", "Ann"]}}]', {}, {"A": "Ann Bo | Cy", "B": "Cy Ann=Bo"}, ""),
    "JSON of retirements by name": ('[{"race": "A", "results": ["Ann", "Bo"], "dnf": {"Cy": "engine"}}, {"race": "B", "results": ["Cy", "Ann", "Bo"]}]', {}, {"A": "Ann Bo | Cy", "B": "Cy Ann Bo"}, ""),
    "JSON of races beside a standing": ('{"standings": [{"position": 1, "name": "Bo", "points": 43}, {"position": 2, "name": "Ann", "points": 43}], "races": [{"name": "Spa", "results": [{"position": 1, "name": "Ann"}, {"position": 2, "name": "Bo"}]}]}', {}, {"Spa": "Ann Bo"}, "lists not used: 'standings'"),
    "JSON, one document after the other": ('{\n"race":"A",\n"results":{"Ann":1,"Bo":2}}\n{\n"race":"B",\n"results":{"Ann":2,"Bo":1}\n}\n', {}, {"A": "Ann Bo", "B": "Bo Ann"}, ""),
    "JSON of teams with places and members": ('[{"round": 1, "teams": [{"name": "Red", "place": 2, "players": [{"name": "Ann", "score": 1}, {"name": "Al", "score": 4}]}, {"name": "Blue", "place": 1, "players": [{"name": "Bo", "score": 1}, {"name": "Bea", "score": 2}]}]}, {"round": 2, "teams": [{"name": "Red", "place": 2, "players": [{"name": "Ann", "score": 2}, {"name": "Al", "score": 4}]}, {"name": "Blue", "place": 1, "players": [{"name": "Bo", "score": 1}, {"name": "Bea", "score": 2}]}]}]', {}, {"1": "Bea=Bo Al=Ann", "2": "Bea=Bo Al=Ann"}, ""),
    "JSON of players with races by name": ('{"users": {"7": {"name": "Ann", "results": {"w1": {"time": 60.5, "ff": false}, "w2": null}}, "8": {"name": "Bo", "results": {"w1": {"time": null, "ff": true}, "w2": {"time": 59, "ff": false}}}}}', {}, {"w1": "Ann | Bo", "w2": "Bo"}, "dnf=ff"),
    "JSON of a race without entrants": ('[{"race": "A", "results": [{"name": "Ann", "place": 1}]}, {"race": "B", "results": []}]', {}, {"A": "Ann"}, "1 object without entrants (the first: race=B)"),
    "JSON of first and last names": ('[{"race": "A", "results": [{"driver": {"firstName": "Max", "lastName": "V"}, "position": 1, "status": "FINISHED"}, {"driver": {"firstName": "Max", "lastName": "W"}, "position": 2, "status": "FINISHED"}, {"driver": {"firstName": "Lew", "lastName": "H"}, "position": 3, "status": "RETIRED"}]}]', {}, {"A": "Max V Max W | Lew H"}, "player=driver name"),
    "JSON of milliseconds beside a fastest lap": ('[{"name": "Ann", "time_ms": 61000, "fastestLap": {"time": "0:29.1", "rank": 8}}, {"name": "Bo", "time_ms": 60000, "fastestLap": {"time": "0:29.1", "rank": 4}}]', {}, {"t": "Bo Ann"}, "time=time_ms"),
    "JSON of games without names": ('{"games": [{"players": [{"name": "Ann", "score": 3}, {"name": "Bo", "score": 1}]}, {"players": [{"name": "Ann", "score": 2}, {"name": "Bo", "score": 4}]}]}', {}, {"1": "Ann Bo", "2": "Bo Ann"}, "race=list"),
    "players called Nat and Nan": ("p1,p2,score\nNat,Bo,0-2\nBo,Nan,2-1\n", {}, {"t-000002": "Bo Nat", "t-000003": "Bo Nan"}, "a race of two"),
    "a club with one finisher": ("race,rider,team,place\ns,Ann,Red,1\ns,Bo,Blue,2\ns,Cy,Blue,DNF\n", {}, {"s": "Ann Bo | Cy"}, "each is rated alone"),
    "two clocks": ("Place,Name,GunTime,ChipTime\n1,Ann,31:05,31:02\n2,Bo,32:11,32:00\nDNF,Cy,,\n", {}, {"t": "Ann Bo | Cy"}, "time=ChipTime"),
    "goals by their form, and a game not played": ("Tag;Heim;Gast;Stand\n1;Ann;Bo;2:1\n2;Bo;Ann;0:0\n3;Ann;Bo;ausgefallen\n", {}, {"t-000002": "Ann Bo", "t-000003": "Ann=Bo"}, "1 line of games not played: 'ausgefallen' (the first is line 4)"),
    "sets in columns": ("Player A,Player B,Set 1,Set 2,Set 3\nAnn,Bo,11-7,8-11,11-9\nAnn,Bo,7-11,9-11,\n", {}, {"t-000002": "Ann Bo", "t-000003": "Bo Ann"}, ""),
    "sets in a cell": ("Player 1,Player 2,Score\nAnn,Bo,\"6-4 6-7(4), 7-5\"\n", {}, {"t-000002": "Ann Bo"}, ""),
    "two against two, in one column each": ("Team A,Team B,Score\nAnn & Bo,Cy & Di,21-15\nAnn & Cy,Bo & Di,15-21\n", {}, {"t-000002": "Ann=Bo Cy=Di", "t-000003": "Bo=Di Ann=Cy"}, ""),
    "teams with names of two": ("Team A,Team B,Score\nAnn & Bo,Cy & Di,21-15\nCy & Di,Ann & Bo,15-21\n", {}, {"t-000002": "Ann & Bo Cy & Di", "t-000003": "Ann & Bo Cy & Di"}, ""),
    "two against two, named": ("A1,A2,B1,B2,Score\nAnn,Bo,Cy,Di,2:1\n", {"columns": "player1=A1+A2,player2=B1+B2,result=Score"}, {"t-000002": "Ann=Bo Cy=Di"}, ""),
    "players in a form": ("Timestamp,Who won?,Who came second?,3rd place\nx,Ann,Bo,Cy\ny,Bo,Ann,\n", {}, {"t-000002": "Ann Bo Cy", "t-000003": "Bo Ann"}, "in order from 'Who won?' to '3rd place'"),
    "won or not": ("Game,Player,Won\n1,Ann,1\n1,Bo,0\n2,Ann,no\n2,Bo,yes\n2,Cy,yes\n", {}, {"1": "Ann Bo", "2": "Bo=Cy Ann"}, "place=Won"),
    "a line that is no player, and a column that is no race": ("Name,R1,R2,R3,Fee\nAnn,21:05,20:59,21:00,5:00\nBo,21:40,22:10,20:10,5:00\nTop,21:05,20:59,20:10,5:00\n", {"columns": ["cells=time", "unused=Fee+Top"]}, {"R1": "Ann Bo", "R2": "Ann Bo", "R3": "Bo Ann"}, "not used: 'Fee'"),
    "a line that is like the best of others": ("Name,R1,R2,R3,Fee\nAnn,21:05,20:59,21:00,5:00\nBo,21:40,22:10,20:10,5:00\nTop,21:05,20:59,20:10,5:00\n", {"columns": "unused=Fee+"}, {"R1": "Ann=Top Bo", "R2": "Ann=Top Bo", "R3": "Bo=Top Ann"}, ""),
    "a line that no column is": ("Name,R1,R2\nAnn,1,2\nBo,2,1\nNet,9,9\n", {"columns": "cells=score,unused=Net"}, {"R1": "Bo Ann", "R2": "Ann Bo"}, ""),
    "the columns below a merged cell": ("Driver,Monza,,Spa,,Imola,\n,Pos,Pts,Pos,Pts,Pos,Pts\nAnn,1,25,2,18,1,25\nBo,2,18,1,25,2,18\n", {"columns": "cells=place,unused=Spa+Monza Pts+Imola Pts"}, {"Monza Pos": "Ann Bo", "Imola Pos": "Ann Bo"}, ""),
    "races called by letters, in the order of the first": ("Player,Race A,Race B\nAnn,1,3\nBo,2,1\nCy,3,2\nDi,4,4\n", {}, {"Race A": "Ann Bo Cy Di", "Race B": "Bo Cy Ann Di"}, ""),
    "numbers for statuses": ("Name,Zeit,Wertung,Platz\nAnn,35:10,0,1\nBo,37:30,0,2\nCy,29:00,3,\nDi,,1,\n", {"columns": "status=Wertung", "words": "done=0,dns=1,dnf=2,dq=3"}, {"t": "Ann Bo | Cy"}, "1 × '3' as disqualified"),
    "Polish letters of Windows": ("race,player,place\na,Łucja Śliwa,1\na,Paweł Gąska,2\n".encode("cp1250"), {}, {"a": "Łucja Śliwa Paweł Gąska"}, "read as cp1250"),
    "Cyrillic letters of Windows": ("Старт;Спортсмен;Место\nа;Инна;1\nа;Пётр;не старт.\n".encode("cp1251"), {}, {"t": "Инна"}, "read as cp1251; if names look wrong, save it as UTF-8"),
    "negative money": ("Date,Ann,Bo,Cy\n2026-01-09,$25.00,($40.00),-$5\n2026-01-16,$10,$5,$20\n", {"columns": "cells=score"}, {"2026-01-09": "Ann Cy Bo", "2026-01-16": "Cy Ann Bo"}, "with scores"),
    "times and points of each race": (",,Spa,,Imola,,\nNo,Name,Time,Pts,Time,Pts,Sum\n1,Ann,41:10,3,51:00,3,6\n2,Bo,42:10,2,DNF,0,2\n", {"layout": "players", "columns": "cells=time,unused=Spa Pts+Imola Pts"}, {"Spa Time": "Ann Bo", "Imola Time": "Ann | Bo"}, "not used: 'No', 'Spa Pts', 'Imola Pts', 'Sum'"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_read_rightly_and_says_how(tmp_path: Path, form: str) -> None:
    content, options, expected, said = FORMS[form]
    found = read(written(tmp_path / "t", content), **options)
    assert [(race.name, order(race)) for race in found.results] == [*expected.items()]
    assert said in "\n".join(found.notes)


@pytest.mark.parametrize(
    ("content", "fixes"),
    [
        ("race,player,time\na,Ann,1:00\na,Bo,99:99:99\n", ["line 3", "--words dnf=99:99:99"]),
        ("race,player,place\na,Ann,1\na,Bo,0\n", ["line 3", "--lowest-wins if 0 is the first", "--words dns=0"]),
        ("Player,Ann,Bo,Cy\nAnn,X,1,½\nBo,0,X,1\nCy,½,0,X\n", ["player1, player2 and result"]),
        ("Week,Alley,Game 1,Game 2\n1,Ann,1,2\n1,Bo,2,1\n", ["'Game 1', 'Game 2'", "--columns player=NAME,place=NAME (or"]),
        ("place,player,time\n1,Ann,1:00\n2,Bo,0:00\n", ["add --columns time= to rank by places"]),
        ("race,player,place\na,Ann,12\na,Bo,25\n", ["without a place 1", "score=place", "--lowest-wins"]),
        ("race,player,place\na,Ann,1\na,Ann,2\n", ["'Ann' is already in this race in line 2", "--twice first"]),
        ("player,place\nAnn,1\nAnn,2\n", ["no column race", "remove one, or add --twice first"]),
        ("race,player,place,status\na,Ann,1,official\na,Bo,2,protest\n", ["--words \"done=official|protest\" or \"dnf=official|protest\"", "--columns status="]),
        ("Player,R1,R2,R3\nAnn,1,2,0\nBo,2,1,1\nCy,3,3,2\n", ["line 2", "--lowest-wins if 0 is the first"]),
        ("Player,R1,R2\nAnn,1,2\nBo,2,oops\nCy,3,1\n", ["line 3, column place", "--words dns=oops"]),
        ("Player,G1,G2\nAnn,25,18\nBo,18,25\n", ["cells=score", "--lowest-wins"]),
        ("Player,Pos,Swim,Bike\nAnn,1,2,1\nBo,2,1,2\n", ["--layout long", "--layout players"]),
        ("game,who,outcome\na,Ann,1\n", ["no column player", "no column place", "player=NAME,place=NAME"]),
        ("Rider,Hill,Sprint,Total\nAnn,30:00,20:00,50:00\nBo,29:00,20:30,49:30\n", ["'Hill', 'Sprint'? Add --layout long", "--layout players"]),
        ("Event,Lane,Nadadora,Mark\nA,1,Ann,28.1\nA,2,Bo,29.2\n", ["no column player"]),
        ("game,player,score\n1,Ann,\"12,500\"\n1,Bo,950\n", ["line 2 has a number like 1.250 among some like 980: write 1250"]),
        ("Player,R1,R2\nAnn,1:00,1\nBo,1:01,2\n", ["cells=time or cells=place"]),
        ("date,player,place\n9/8/2019,Ann,1\n", ["write 2019-08-09", "--day-first"]),
        ("date,player,place\n13/8/2019,Ann,1\n8/13/2019,Ann,1\n", ["write 2019-08-09"]),
        ("race,player,,date\n", ["no column place or time or score; line 1 has 'race', 'player'"]),
        ("race,date,plyer,time\n", ["did you mean 'plyer'"]),
        ("race,player,time\n" + "a,Bo,fast\n" * 17, ["line 2, column time", "so in 16 more lines"]),
        ("white,black\nAnn,Bo\n", ["no column result"]),
        ('{"session_results": [{"simsession_name": "PRACTICE", "results": [{"cust_id": 1}]}]}', ["iRacing", "practice"]),
        ("<html><body></body></html>", ["HTML or XML is not read", "CSV"]),
        ('[Event "Cup"]\n[White "Ann"]\n\n1. e4 1-0\n', ["PGN", "white, black and result"]),
        ("[3/01/2026 21:10] Ann: game 1: Bo > Cy\n", ["separate columns by commas"]),
        ("2026-01-03,Ann,beat,Bo,3-2\n2026-01-10,Ann,beat,Cy,3-1\n", ["no column player", "a line above, such as date,player1"]),
        ("Name,Time\n1 Lee,28.1\n2 Ray,28.9\n-- Poe,DNF\n", ["'1 Lee'", "column place", "player=Name"]),
        ("%PDF-1.4", ["PDF", "CSV"]),
        ("race,player,score\na,Ann,1.250\na,Bo,980\n", ["line 2 has a number like 1.250"]),
        ("race,player,points\na,Ann,1\na,Bo,2\na,Cy,3\n", ["--columns place=points"]),
        ("race,horse,place,time\na,Ann,1,1:10.2\na,Bo,WV,---\n", ["'WV' is not a place", "--words dns=WV"]),
        ("Night,Player,Buy-ins,Prize\na,Ann,1,0\na,Bo,2,30\nb,Ann,2,0\nb,Bo,2,40\n", ["--columns place=NAME (or time= or score=, with --lowest-wins"]),
        ("Day,East,West,Mark\n1,Ann,Bo,o\n1,Cy,Di,x\n2,Bo,Cy,o\n2,Di,Ann,o\n", ["--columns player1=NAME,player2=NAME,result=NAME"]),
        ("No,Name,1,2,3\n1,Ann,*,1,½\n2,Bo,0,*,1\n3,Cy,½,0,*\n", ["player1, player2 and result"]),
        ("Rk,Name,1.Rd,2.Rd\n1,Ann,3w1,2s½\n2,Bo,4s1,1w½\n3,Cy,1s0,4w1\n4,Di,2w0,3s0\n", ["player1, player2 and result"]),
        ("Year,Rank,Team,Runner 1,Runner 2\n1,1,Red,Ann,Bo\n1,2,Blue,Cy,Di\n2,1,Blue,Di,Cy\n2,2,Red,Bo,Ann\n", ["no column player"]),
        ("Flight,Place,Player,Ring\na,1,Ann,7-1\na,2,Bo,7-2\na,3,Ann,7-3\nb,1,Ann,7-1\nb,2,Ann,7-3\nb,3,Bo,7-2\n", ["'Ann' is already in this file", "--twice first"]),
        ("race,player,seconds\na,Ann,60\na,Bo,NA\n", ["'NA' is not a time", "--words dnf=NA"]),
        ("Bieg,Data,Zawodnik,Miejsce,Uwagi\na,06.04.2025,Ann,1,\na,06.04.2025,Bo,,nie wystartowała\n", ["--columns status=Uwagi"]),
        ("Pos Driver Time\n1 Ann 30:12\n", ["not spaces"]),
        ("Player,Real time,In-game time,Date\nAnn,1h 02m,58m,2026-03-01\nBo,1h 03m,57m,2026-02-01\n", ["no column place or time"]),
        ("Place,Name,Nation,Time\n1,Ann Lee,POL,10:00\n2,Ann Lee,USA,10:10\n", ["player=Name+NAME if two share a name"]),
        ("Name,Start Time,Finish Time\nAnn,10:00:00,10:41:00\nBo,10:05:00,10:42:00\n", ["times of day", "--columns \"time=Finish Time\""]),
        ('{"data": [{"id": "r1", "times": {"primary": "PT1H"}, "players": [{"id": "u"}]}]}', ["speedrun.com"]),
        ('[{"player": "Ann"},]', ["not JSON", "correct it"]),
        ('{"race": "a", "results": {"Ann": 1, "Bo": 2, "Ann": 3}}', ["'Ann' is given twice"]),
        ('{"race": "a", "player": "Ann", "place": 1}\n{"race": "a", "player": "Bo", "place": 2,}', ["line 2 column 42", "correct it"]),
        ("Player,Monza,Spa\nAnn,1,2\nBo,2,kaputt\nCy,3,1\n", ["line 3", "--words dns=kaputt or dnf=kaputt"]),
        ("player,place\nAnn,1\nSource: the club\n", ["line 3, column player", "remove the line"]),
        ("player,place\nAnn,1\n\nplayer,place\nBo,1\n", ["line 4 repeats the names", "split the file"]),
        ("rider,time\nAnn,4:10:22\nBo,0:12\nCy,0:15\n", ["write +0:12", "sort the lines"]),
        ("race,place,name\n1,1,Ann\n1,2,Bo\n1,,Cy\n1,4,Di\n1,,Ed\n", ["line 4, column place: empty between 2 and 4: write 2"]),
        ("player,time\nAnn,895000\nBo,901000\n", ["milliseconds or in seconds? rename it time (ms)"]),
        ("Name,Time\nRace 1,\nAnn,9:00\nBo,9:05\nRace 2,\nBo,9:30\nAnn,\n", ["line 7, column Name: alone in its line"]),
        ("Pos,Name\nSpa,\n1,Ann\nImola,\n1,Bo\nSpa,\n1,Cy\n", ["'Spa' stands above two races"]),
        ("Name,Time\nElite\nAnn,9:00\nOpen\nBo,9:30\n", ["do 'Elite', 'Open' name the races", "add a column race"]),
        ("Round,Seat,Player,VP,VP %\n1,1,Ann,3,1\n1,2,Bo,2,2\n2,1,Cy,1,3\n2,2,Di,4,5\n3,1,Cy,5,6\n", ["no column place or time or score; line 1"]),
        ("Driver,R1,,,R2,,\n,Grid,Finish,Pts,Grid,Finish,Pts\nAnn,2,1,25,1,2,18\nBo,1,Ret,0,2,1,25\n", ["--columns \"unused=R1 Grid+R1 Pts+R2 Grid+R2 Pts\""]),
        ("Driver,R1,R2,R3\nAnn,9:00,19:00,29:00\nBo,9:10,18:50,29:10\n", ["'R2', 'R3' may be no race"]),
        ("Player,Spa,Spa\nAnn,1,2\nBo,2,1\n", ["column 3", "rename"]),
        ("date,player,place\nlast week,Ann,1\n", ["2026-03-01", "--columns date="]),
        ("Player,Spa,,Imola\nAnn,1,2,1\nBo,2,1,2\n", ["column 3 has results and no name"]),
        ('{"Ann": {"2026-03-01": 1}, "Bo": {"2026-03-01": 2}}', ["'key'", "--layout players"]),
        ('{"who": ["Ann", "Bo"], "where": ["1st", "2nd"]}', ["list of objects"]),
        ('{"columns": ["race", "player", "place"], "data": [["A", "Ann", 2], ["A", "Bo", 1]]}', ["an object for each entrant"]),
        ('[{"teams": [["Ann", "Al"], ["Bo"]], "ranks": [2, 1]}]', ["no column player", "a line for each entrant"]),
        ('{"Race 1": [["Ann", 61.2], ["Bo", 62]], "Race 2": [["Bo", 60], ["Ann", "DNF"]]}', ["an object for each entrant"]),
        ('[{"name": "Spa", "results": {"Ann": 1, "Bo": 2}}, {"name": "Imola", "results": {"Ann": 2, "Bo": 1}}]', ["player", "race"]),
        ('{"finishers": ["Ann", "Bo"], "podium": ["Ann"]}', ["entrants in finishers and in podium"]),
        ('{"finishes": {"Ann": [1, 2], "Bo": [2, null], "Cy": [null, 1]}}', ["an object for each entrant"]),
        ('{"participants": ["Ann", "Bo"], "ranks": [1]}', ["lists of different lengths: participants, ranks"]),
        ("Name,Time,Place\nAnn,35:10,1\nBo,37:30,2\nCy,39:00,\n", ["empty in line 4", "--columns place="]),
        ('{"rounds": [{"round": 1, "qualifying": [{"driver": "Ann", "pos": 1}], "race": [{"driver": "Bo", "pos": 1}]}]}', ["--where part=\"rounds qualifying\"", "race=round+part"]),
        ('[{"name": "Ann", "rank": 1, "results": [{"name": "Oslo", "place": 1}]}, {"name": "Bo", "rank": 2, "results": [{"name": "Oslo", "place": 2}]}]', ["entrants in \"top level\" and in results"]),
        ('[{"course": "A", "runners": [{"horse": "Ann", "pos": 1}]}, {"course": "A", "runners": [{"horse": "Bo", "pos": 1}]}]', ["several lists", "race=course+list"]),
        ('[{"stage": "A", "teams": [{"team": "Ann", "score": 1}, {"team": "Bo", "score": 0}]}, {"stage": "A", "teams": [{"team": "Cy", "score": 3}]}]', ["several lists", "race=stage+list"]),
        ('[{"page": 1, "items": [{"rank": 1, "name": "Ann"}]}, {"page": 2, "items": [{"rank": 2, "name": "Bo"}]}]', ["without a place 1", "--columns race="]),
        ("Runner,Min,Sec,Hund\nAnn,1,2,33\nBo,1,1,90\n", ["no column place or time or score"]),
        ("Runner,Time,Pen\nAnn,1:02,0\nBo,1:01,5\n", ["does 'Time' include 'Pen'?", "--columns time=Time"]),
        ('{"game": "x", "when": "2024-01-02", "player": "Ann", "place": 1}\n{"game": "x", "when": "2024-01-09", "player": "Bo", "place": 1}\n', ["another time above", "race=game+when"]),
        # Columns and lines that do not fit the others, each with a column that does.
        ("Date,Ann,Bo,Cy,Karts\n2026-03-01,1,2,3,3\n2026-03-08,2,1,,2\n2026-03-15,3,1,2,3\n", ["'Karts' may be no player", "unused=Karts", "unused= if"]),
        ("Date,Rain,Ann,Bo,Cy\n2026-03-01,2,1,2,3\n2026-03-08,4,2,1,3\n2026-03-15,3,3,1,2\n", ["'Rain' may be no player"]),
        ("Date,Ann,Bo,Crew\n2026-03-01,1,2,2\n2026-03-08,2,1,2\n2026-03-15,,1,1\n", ["'Crew' may be no player"]),
        ("Name,Tier,Spa,Imola\nAnn,1,1,2\nBo,1,2,1\nCy,2,3,3\n", ["'Tier' may be no race"]),
        ("Name,Chair,Spa\nAnn,1,2\nBo,2,1\nCy,3,3\nDi,4,4\n", ["'Chair' may be no race"]),
        (",,Spa,,Imola,,\nNo,Name,Time,Pts,Time,Pts,Sum\n1,Ann,41:10,3,51:00,3,6\n2,Bo,42:10,2,DNF,0,2\n", ["'Spa Time', 'Spa Pts', 'Imola Time' and 1 more"]),
        ("Name,R1,R2,R3\nAnn,21:05,20:59,21:00\nBo,21:40,22:10,20:10\nQuickest,21:05,20:59,20:10\n", ["'Quickest' may be no player: add --columns unused=Quickest, or add --columns unused= if each"]),
        ("Name,R1,R2\nAnn,3,4\nBo,4,2\nCy,2,3\nDi,1,1\n", ["highest sum", "cells=score"]),
        # Names that are not known, and races that more columns tell apart.
        ("Datum,Uitdager,Tegenstander,Uitslag\nx,Ann,Bo,3-0\ny,Bo,Ann,1-3\nz,Ann,Bo,w.o.\n", ["--columns player1=NAME,player2=NAME,result=NAME"]),
        ("Race,Place,Player\nA,1,Ann\n,2,Bo\n,,Cy\n,4,Di\nB,1,Ann\n", ["line 4, column Place: empty between 2 and 4: write 2 if they are equal"]),
        ("Pos,Car,Pos,Car,Name\n1,A,2,C,Ann\n2,B,1,D,Bo\n", ["'Pos' is repeated: rename one, or put tables"]),
        ("Date,Red 1,Red 2,Goals\n2026-03-01,Ann,Bo,3\n2026-03-02,Bo,Ann,2\n", ["a line for each entrant"]),
        ("Lauf,Etappe,Fahrer,Platz\nA,1,Ann,1\nA,1,Bo,2\nA,2,Ann,2\nA,2,Bo,1\n", ["'Ann' is already in this race in line 2", "race=Lauf+Etappe", "--twice first"]),
        ("Saal,Fahrer,Platz,Startzeit,Nummer\nA,Ann,1,9:00,4\nA,Bo,2,9:10,5\nB,Ann,2,9:00,5\nB,Bo,1,9:05,6\n", ["race=Saal"]),
        ('{"rounds": [{"name": "R1", "results": [{"place": 1, "participant": {"displayName": "Ann"}, "state": "Retired"}]}]}', ["--columns status=state"]),
        ("Pos,Driver,Run 1,Total\n1,Ann,44.1,44.1\n2,Bo,DNF,45.0\n3,Cy,46.0,DNF\n", ["'Total' says", "status=Total, or status="]),
        ("game,player,position,result\n1,Ann,1,loss\n1,Bo,2,win\n", ["place=position or place=result"]),
        ("Race,Driver,Status,Position,Rank\nA,Ann,done,1,2\nA,Bo,done,2,1\n", ["place=Position or place=Rank"]),
        ("WK,Lauf,Name,Platz\nA,1,Ann,1\nA,1,Bo,3\nA,2,Cy,2\nB,1,Ann,2\nB,1,Cy,1\n", ["race=Lauf+NAME, with one of 'WK'"]),
        ("Plaats,Naam,Opmerking\n1,Femke,windy\n2,Piet,DSQ\n", ["status=Opmerking"]),
        ("race,player,place\na,Ann,1\na,Zoe,2\na,Al,3\nb,Ann,1\nb,Zoe / Al,2\nb,Bo,4\n", ["'Zoe / Al' are players of other lines", "--exact-names"]),
        ("Rider,Time,Notes\nAnn,21:10,PB!\nBo,20:50,DQ - no rear light\nCy,22:00,\n", ["status=Notes"]),
        ("race,player,place\na,Ann,1\na,Bo,2\nb,Ann,1\nb,Bo,2\nb,Cy,1\nb,Di,2\nc,Ann,1\nc,Bo,2\n", ["two places 1 and two places 2", "race=race+NAME if of several", "place=place"]),
        ("Course,Off,Horse,Pos\nA,14:00,Ann,1\nA,14:00,Bo,2\nA,14:35,Cy,1\nA,14:35,Di,2\n", ["two places 1", "race=Course+Off"]),
        ("Date,Course,Off,Horse,Pos\n2026-03-01,A,14:00,Ann,1\n2026-03-01,A,14:00,Bo,F\n2026-03-01,A,14:35,Ann,1\n2026-03-01,A,14:35,Bo,2\n2026-03-08,A,14:00,Bo,1\n2026-03-08,A,14:00,Ann,2\n", ["race=Course+NAME, with one of"]),
        ("Game,Date,Player,Pos\nCatan,2026-01-02,Ann,1\nCatan,2026-01-02,Bo,2\nCatan,2026-01-09,Bo,1\nCatan,2026-01-09,Ann,2\n", ["race=Game+Date"]),
        ("match,side,player,place\n1,X,Ann,1\n1,X,Bo,1\n1,Y,Cy,2\n1,Y,Di,2\n2,Y,Cy,1\n2,Y,Di,1\n2,X,Ann,2\n2,X,Bo,2\n", ["two places 1", "--columns team=NAME"]),
        # Rare forms: the refusal names the form that is wanted.
        ("Place,Race 1 (Jan 11),Race 2 (Jan 18)\n1st,Ann,Bo\n2nd,Bo,Cy\nDNF,Cy,\n", ["no column player"]),
        ("Place,R1,R2\n1,Ann,Bo\n2,Bo,Ann\nDNF,\"Cy, Di\",\n", ["no column player", "write a line for each entrant"]),
        ("Date,East,得点,South,得点,West,得点\n2026-03-01,Ann,\"41,200\",Bo,\"▲2,500\",Cy,\"28,300\"\n2026-03-02,Cy,\"25,000\",Ann,\"25,000\",,\n", ["no column player", "write a line for each entrant"]),
        ("Player 1,Player 2,Player 3,Score 1,Score 2,Score 3\nAnn,Bo,Cy,10,30,20\n", ["no column player"]),
        ("Date,Game,Ann,Bo,Cy,Notes\n2026-03-01,Azul,L,W,L,\n2026-03-02,Root,,L,W,close\n", ["no column player"]),
        ("Cup       2026, May\n\nHeat 1 at Old Mill    (dry)\nPl   No  Name     Time\n 1   12  Ann Lee  1:02\n 2       Bo       1:03\nDNF  14  Cy\n\nHeat 2 at New Mill    (wet)\nPl   No  Name     Time\n 1    7  Bo       1:04\n", ["apart by spaces", "commas or tabs"]),
        ('"heat" "who" "seconds"\n"1" 1 "Ann Lee" 61.5\n"2" 1 "Bo" 60\n', ["quotation marks or separators"]),
        ('race,pos,player\na,1,Ann\n〃,2,Bo\n〃,"""",Cy\n〃,4,Di\n', ["line 3, column player: a sign for the text above, 〃"]),
        ("Spa,,,Imola,,\nPos,Name,,Pos,Name,\n1,Ann,,1,Bo,\n2,Bo,,2,Cy,\n,,,3,Ann,\n", ["'Pos' is repeated", "below each other"]),
        ("Name,Swim,T1,Bike,T2,Run,Overall\nAnn,25:10,1:10,1:05:00,0:58,45:00,2:17:18\nBo,24:00,1:20,1:10:00,1:02,44:00,2:20:22\nCy,30:00,2:10,1:02:00,0:50,41:00,2:16:00\n", ["'Swim', 'T1', 'Bike' and 3 more? Add --layout long", "--columns place=NAME or time=NAME"]),
        ("Runner,Hours,Minutes,Seconds\nAnn,1,2,3\nBo,,59,59.5\nCy,DNF,,\nDi,1,,59\n", ["no column place or time or score", "--columns place=NAME"]),
        ("Red 1,Red 2,Blue 1,Blue 2,Red Score,Blue Score\nAnn,Bo,Cy,Di,10,7\nAnn,Cy,Bo,Di,4,10\n", ["no column player", "write a line for each entrant"]),
        ("Date,Winner,Player 1,Player 2,Player 3\n2026-03-01,Bo,Ann,Bo,Cy\n2026-03-02,draw,Bo,Ann,\n", ["no column player", "write a line for each entrant"]),
        # Results that most likely mean another thing.
        ("Lap,1st,2nd\n1,Ann,Bo\n2,Bo,Ann\n", ["places after each lap"]),
        ("Rank,NOC,Gold,Silver\n1,A,10,5\n2,B,8,9\n", ["no column player"]),
        ("player,time,dnf\nAnn,10,no\nBo,11,engine\n", ["'engine' is neither yes nor no", "--columns dnf="]),
        ("Date,Time,Player,Points\n2026-03-01,19:30,Ann,7\n2026-03-01,19:30,Bo,10\n", ["equal in each race", "time=Time"]),
        ("match,player,time\n1,Ann,21:10\n1,Bo,18:02\n1,Cy,3:10\n1,Di,3:00\n", ["from the longest", "column place", "time=time"]),
        ("Player,Score\nAnn,68\nBo,70\nCy,71\nDi,75\n", ["from the lowest", "--lowest-wins", "score=Score"]),
        ("race,class,pos,driver\na,X,1,Ann\na,X,2,Bo\na,Y,1,Cy\na,Y,2,Di\n", ["race=race+class", "team=NAME if of teams; if not, place=pos"]),
        ("Player,Time,Date\nAnn,1:02:03,2026-03-01\nBo,1:03:00,2026-02-01\n", ["one entrant a race", "--columns date="]),
        ("Runner,Time\nAnn,59:50:00\nBo,1:02:10\n", ["factor of 30", "h:mm:ss", "--columns time=Time if they are right"]),
        ("Timestamp,Your name,Which race?,Time\n1/3/2026,Ann,Race 1,1:02\n1/3/2026,Bo,Race 1,1:01\n1/3/2026,Cy,Race 2,0:59\n", ['"race=Which race?"']),
        ("Week,Table,Player,Score\n1,A,Ann,10\n1,A,Bo,12\n1,B,Cy,30\n1,B,Di,22\n", ["race=Week+Table; if not, --columns race=Week"]),
        ("Name,Bike,Run,Overall\nAnn,9:00,8:00,1\nBo,9:30,8:40,2\n", ["--columns place=NAME"]),
    ],
)  # fmt: skip
def test_what_cannot_be_known_is_asked_in_ten_lines(tmp_path: Path, content: str, fixes: list[str]) -> None:
    with pytest.raises(PayloadError) as refused:
        read(written(tmp_path / "t", content))
    assert len(refused.value.problems) <= 11
    for fix in fixes:
        assert fix in str(refused.value)


PROGRAMS: dict[str, tuple[Any, str]] = {
    "Ergast": ({"MRData": {"RaceTable": {"Races": [{"season": "2025", "round": "1", "raceName": "A", "date": "2025-03-16", "Results": [ {"position": str(place), "positionText": text, "Driver": {"driverId": name.lower(), "givenName": name, "familyName": "L"}, "Constructor": {"name": "C"}} for place, (name, text) in enumerate([("Ann", "1"), ("Bo", "2"), ("Cy", "R")], start=1) ]}]}}}, "Ann L Bo L | Cy L"),
    "iRacing": ({"subsession_id": 5, "start_time": "2026-03-01T20:00:00Z", "track": {"track_name": "Spa"}, "session_results": [ {"simsession_name": "QUALIFY", "results": [{"cust_id": 2, "display_name": "Bo", "finish_position": 0}]}, {"simsession_name": "RACE", "results": [ {"cust_id": 1, "display_name": "Ann", "finish_position": 0, "reason_out": "Running"}, {"cust_id": 2, "display_name": "Bo", "finish_position": 1, "reason_out": "Running"}, {"cust_id": 3, "display_name": "Cy", "finish_position": 2, "reason_out": "Disconnected"}, ]}, ]}, "Ann Bo | Cy"),
    "Assetto Corsa Competizione": ({"sessionType": "R", "trackName": "spa", "sessionResult": {"leaderBoardLines": [ {"currentDriver": {"firstName": name, "lastName": "L", "playerId": f"S{laps}{name}"}, "timing": {"lapCount": laps}} for name, laps in [("Ann", 20), ("Bo", 19), ("Cy", 0)] ]}}, "Ann L Bo L | Cy L"),
    "Assetto Corsa": ({"TrackName": "spa", "Type": "RACE", "Result": [ {"DriverName": name, "DriverGuid": name, "TotalTime": time} for name, time in [("Ann", 1000), ("Bo", 1100), ("Cy", 0)] ]}, "Ann Bo | Cy"),
    "start.gg": ({"data": {"event": {"name": "Cup", "standings": {"nodes": [ {"placement": place, "entrant": {"name": name}} for name, place in [("Ann", 1), ("Bo", 2), ("Cy", 2)] ]}}}}, "Ann Bo=Cy"),
    "BG Stats": ({"players": [{"id": n, "name": name} for n, name in enumerate(["Ann", "Bo", "Cy"])], "games": [{"id": 4, "name": "Hearts", "highestWins": False}], "plays": [{"playDate": "2026-03-01 20:00:00", "gameRefId": 4, "playerScores": [{"playerRefId": n, "score": str(score), "rank": 0} for n, score in enumerate([26, 101, 5])]}]}, "Cy Ann Bo"),
    "RaceRoom": ({"Track": "Spa", "Sessions": [{"Type": kind, "Players": [{"UserId": n, "FullName": name, "Position": n, "FinishStatus": status} for n, (name, status) in enumerate(names, start=1)]} for kind, names in [("Qualify", [("Bo", "None")]), ("Race", [("Ann", "Finished"), ("Bo", "DidNotFinish")])]]}, "Ann | Bo"),
    "SpeedRunsLive": ({"pastraces": [{"id": "7", "date": "1771500000", "results": [{"race": 7, "place": place, "player": name, "time": time} for name, place, time in [("Ann", 1, 2520), ("Bo", 9998, -1), ("Cy", 9999, -2)]]}]}, "Ann | Bo Cy"),
    "Challonge": ([{"participant": {"name": name, "final_rank": rank}} for name, rank in [("Bo", 2), ("Ann", 1)]], "Ann Bo"),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_of_known_programs_are_read(tmp_path: Path, program: str) -> None:
    document, expected = PROGRAMS[program]
    found = read(written(tmp_path / "results", document))
    assert [order(race) for race in found.results] == [expected]
    assert any(f"results of {program}" in note for note in found.notes)


@pytest.mark.parametrize(
    ("content", "stray"),
    [
        (
            "Bowler,R1,R2,R3,Games,High\nAnn,120,,131,2,131\nBo,99,102,140,3,140\nCy,98,,,1,98\nDi,9,80,71,3,80\n",
            "'Games', 'High' may be no race",
        ),
        ("Race,Ann,Bo,Cy,Check\nA,5,-3,-2,0\nB,1,2,-3,0\nC,-4,1,3,0\n", "'Check' may be no player"),
        ("Team,A,B,C\nAnn,25,43,68\nBo,18,43,55\n", "'B', 'C' may be no race"),
        ("Race,Ann,Bo\nA,25,18\nB,43,43\nC,68,55\n", "'B', 'C' may be no race"),
        (
            "Race,Ann,Bo,Cy\nA,15,12,9\nB,9,12,15\nOne,24,24,24\nC,15,9,11\nD,9,15,12\nTwo,24,24,23\nALL,48,48,47\n",
            "'One', 'Two', 'ALL' may be no race",
        ),
        (
            "Player,A,B,Half,C,D,All\nAnn,9,15,24,9,12,45\nBo,12,12,24,9,15,48\nCy,15,9,24,15,9,48\n",
            "'Half', 'All' may be no race",
        ),
        ("Race,Fee,Ann,Bo\nA,20,35,-20\nB,20,-20,60\nC,20,5,-4\n", "'Fee' may be no player"),
    ],
)
def test_sums_after_each_race_are_no_scores(tmp_path: Path, content: str, stray: str) -> None:
    with pytest.raises(PayloadError, match=stray):
        read(written(tmp_path / "t", content), columns="cells=score")


def test_columns_left_out_do_not_answer_for_lines(tmp_path: Path) -> None:
    text = "Night,Ann,Bo,Cy,Tip\nA,35,-20,5,1\nB,-20,60,4,2\nNet,15,40,9,3\n"
    with pytest.raises(PayloadError, match="'Net' may be no race"):
        read(written(tmp_path / "t", text), layout="races", columns="cells=score,unused=Tip")


def test_dates_are_no_players(tmp_path: Path) -> None:
    path = written(tmp_path / "t", {"2026-03-01": {"Ann": 1, "Bo": 2}, "2026-03-08": {"Ann": 2, "Bo": 1}})
    with pytest.raises(PayloadError, match="players named '2026-03-01', '2026-03-08': add --layout races"):
        read(path, layout="players")


def test_files_of_one_race_each_are_one_season(tmp_path: Path) -> None:
    folder = tmp_path / "season"
    folder.mkdir()
    for name, text in {
        "2.csv": "player,place\nann,2\nBo,1\n",
        "10.csv": "player,place\nAnn,1\nBo,2\n",
        "11.csv": "player,place\nAnn,3\nBo,2\n",
    }.items():
        written(folder / name, text)
    found = read_races(folder)
    assert {race.name: order(race) for race in found.results} == {
        "2": "Bo ann",
        "10": "ann Bo",
        "11": "Bo ann",
    }
    assert found.results[0].ended_at < found.results[1].ended_at
    again = read_races(*(folder / f"{number}.csv" for number in (2, 10, 11)))
    assert again.results == found.results


def test_races_of_a_day_count_in_the_order_of_the_file(tmp_path: Path) -> None:
    head, last, first = "race,date,player,place\n", "Dawn,2026-03-09,Ann,1\n", "Noon,2026-03-01,Ann,1\n"
    day = ["Heat,2026-03-08,Ann,1\n", "Final,2026-03-08,Bo,1\n"]
    day_by_number = ["Race 10,2026-03-08,Ann,1\n", "Race 9,2026-03-08,Bo,1\n"]
    for text, expected in {
        head + first + "".join(day) + last: ["Noon", "Heat", "Final", "Dawn"],
        head + last + "".join(day) + first: ["Noon", "Final", "Heat", "Dawn"],  # the newest first
        head + "".join(day_by_number): ["Race 9", "Race 10"],
    }.items():
        found = sorted(read(written(tmp_path / "t.csv", text)).results, key=lambda race: race.ended_at)
        assert [race.name for race in found] == expected
        assert len({race.ended_at for race in found}) == len(expected)


def test_dates_in_names_of_files_count(tmp_path: Path) -> None:
    for name in ("Quiz 11.02.2026.csv", "Quiz 14.01.2026.csv", "Quiz March 2026.csv"):
        written(tmp_path / name, "player,place\nAnn,1\nBo,2\n")
    assert [f"{race.ended_at:%m-%d}" for race in read_races(tmp_path).results] == ["02-11", "01-14", "03-01"]


def test_json_in_other_encodings_is_read(tmp_path: Path) -> None:
    lines = '[{"race": "a", "player": "Zoë", "place": 1}, {"race": "a", "player": "Bo", "place": 2}]'
    for encoding in ("utf-16", "utf-16-le", "utf-32", "cp1252"):
        found = read(written(tmp_path / "t.json", lines.encode(encoding)))
        assert [order(race) for race in found.results] == ["Zoë Bo"]


def test_what_is_left_out_is_counted_in_one_line(tmp_path: Path) -> None:
    text = "race,player,time\na,Ann,DNF\na,Bo,DNF\nb,Ann,1:00\nb,Bo,DNF\nb,Cy,DQ\nc,Ann,1:00\nc,Bo,1:00\n"
    found = read(written(tmp_path / "t.csv", text))
    assert History.of(found.results).understood == (
        "1 race of 3, 1 not finished, 1 disqualified; races left out: 1 nobody finished, "
        "1 drawn or of one player, so without an order"
    )


def test_the_first_and_the_last_race_are_shown_as_they_were_read(tmp_path: Path) -> None:
    text = "race,date,player,place,time\nb,2026-03-08,Ann,1,\nb,2026-03-08,Bo,1,\nb,2026-03-08,Cy,3,\n"
    text += "a,2026-03-01,Bo,,1:02:03\na,2026-03-01,Ann,,1:00:01\na,2026-03-01,Di,,DNF\n"
    assert read(written(tmp_path / "t.csv", text)).notes[-2:] == (
        "first race: 'a', 2026-03-01: Ann 1:00:01 > Bo 1:02:03; not finished: Di",
        "last race: 'b', 2026-03-08: Ann = Bo > Cy",
    )


def test_teams_with_one_result_stay_teams(tmp_path: Path) -> None:
    text = "race,player,team,place\na,Ann,red,1\na,Bo,red,1\na,Cy,blue,2\na,Di,blue,2\n"
    (race,) = read(written(tmp_path / "t.csv", text)).results
    assert outcome_of(race, TeamPolicy.TEAM).outcome.team is not None
    assert History.of([race], TeamPolicy.TEAM).understood == "1 race of 4, teams of 2"
