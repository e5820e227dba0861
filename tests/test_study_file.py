"""Study files: what a complete one means, and that every mistake in one is named with its line and its remedy."""

import pickle
import tomllib
from pathlib import Path

import pytest

import farthing as ft
from farthing.command import Command
from farthing.function import Function
from farthing.study_file import Limits, parse_study_file, read_study_file
from farthing.toml_lines import lines_of

COMPLETE = """\
[study]
name = "digits"
store = "digits.db"
budget = "8 h"
evaluations = 50
target = 0.02
regret = 0.001
method = { name = "pes", rivals = 4 }
seed = 1
workers = 2
timeout = "30 min"
max_failures = 3

[objective]
command = ["python", "train.py", "--lr={lr}", "{layers}", "{optimizer}", "{verbose}", "{rows}"]
folder = "."

[space]
lr = { real = [1e-5, 1e-1], log = true }
layers = { integer = [1, 8] }
optimizer = { choice = ["adam", "sgd"] }
verbose = false

[fidelity]
name = "rows"
cheap = 100
full = 10000
log = true
integer = true

[settings]
draws = 4
initial_fidelities = [0.5, 1.0]
"""

SMALL = """\
[study]
budget = 10

[space]
x = { real = [0, 1] }
"""


def read(tmp_path, text, name="study.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_study_file(path)


def refusal(tmp_path, text):
    """The message, without the file's folder."""
    with pytest.raises(ft.StudyFileError) as caught:
        read(tmp_path, text)
    message = str(caught.value)
    assert message.count(str(tmp_path / "study.toml")) == 1
    return message.replace(f"{tmp_path}/", "")


# What a file means ------------------------------------------------------------------------------------------------------------


def test_nothing_of_a_complete_file_is_lost(tmp_path):
    file = read(tmp_path, COMPLETE)
    assert file.name == "digits"
    assert file.store == tmp_path / "digits.db"
    assert file.limits == Limits("8 h", 50, 0.02, 0.001, 2, "30 min", 3)
    assert file.method == ft.methods.PES(rivals=4)
    assert file.seed == 1
    assert file.axes == {
        "lr": ft.Real(1e-5, 1e-1, log=True),
        "layers": ft.Integer(1, 8),
        "optimizer": ft.Choice(["adam", "sgd"]),
        "verbose": False,
    }
    assert file.fidelity == ft.Fidelity("rows", cheap=100, full=10_000, log=True, integer=True)
    assert file.settings == ft.Settings(draws=4, initial_fidelities=(0.5, 1.0))
    assert isinstance(file.objective, Command)
    assert file.objective.arguments[2] == "--lr={lr}"
    assert file.objective.folder == str(tmp_path)


def test_what_is_left_out_has_its_default(tmp_path):
    file = read(tmp_path, SMALL, "my digits.toml")
    assert file.name == "my digits"
    assert file.store == tmp_path / "my digits.db"
    assert file.limits == Limits(budget=10)
    assert file.method == ft.methods.EnvPES()
    assert (file.seed, file.fidelity, file.objective, file.settings) == (None, None, None, ft.Settings())


def test_the_study_is_created_and_gone_on_with(tmp_path):
    file = read(tmp_path, COMPLETE)
    study = file.study()
    assert (study.name, study.budget, study.seed) == ("digits", 8 * 3600.0, 1)
    trial = study.ask()
    assert file.study().trials[0].params == trial.params
    assert ft.Study.open(tmp_path / "digits.db", "digits").settings == file.settings


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ("deep/er.db", "{folder}/deep/er.db"),
        ("/elsewhere/x.db", "/elsewhere/x.db"),
        ("sqlite:///y.db", "{folder}/y.db"),
        ("postgresql://user@host/base", "postgresql://user@host/base"),
    ],
)
def test_a_store_is_looked_for_beside_the_file_and_not_where_the_command_was_given(tmp_path, monkeypatch, store, expected):
    monkeypatch.chdir("/")
    file = read(tmp_path, SMALL.replace("budget = 10", f'store = "{store}"'))
    assert str(file.store) == expected.format(folder=tmp_path)


def test_a_tilde_is_the_home_folder_but_not_in_a_name(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    for store in ("~/x.db", "sqlite:///~/x.db"):
        assert read(tmp_path, SMALL.replace("budget = 10", f'store = "{store}"')).store == tmp_path / "home" / "x.db"
    in_home = COMPLETE.replace('folder = "."', 'folder = "~"')
    assert read(tmp_path, in_home).objective.folder == str(tmp_path / "home")
    assert read(tmp_path, SMALL.replace("budget = 10", 'name = "~"')).store == tmp_path / "~.db"


def test_a_name_that_is_too_long_for_a_file_wants_a_store(tmp_path):
    named = SMALL.replace("budget = 10", f'name = "{"🐟" * 70}"')
    with pytest.raises(
        ft.StudyFileError, match=r"\[study\] name: the name is too long for that of a file, NAME\.db; give store = "
    ):
        read(tmp_path, named)
    read(tmp_path, named.replace("name =", 'store = "fish.db"\nname =')).study()
    longest = named.replace("🐟" * 70, "🐟" * 61)
    assert read(tmp_path, longest).study().ask().number == 0


def test_a_relative_path_of_the_file_gives_absolute_places(tmp_path, monkeypatch):
    (tmp_path / "study.toml").write_text(COMPLETE)
    monkeypatch.chdir(tmp_path)
    file = read_study_file("study.toml")
    assert file.store == tmp_path / "digits.db"
    assert file.objective.folder == str(tmp_path)


def test_levels_subtables_and_dotted_keys_are_understood(tmp_path):
    text = """
study.name = "dotted"
[space.lr]
real = [1, 10]
log = true
[space]
momentum.real = [0, 1]
"a b" = { fixed = "c" }
[fidelity]
name = "cells"
levels = [64, 128, 256]
"""
    file = read(tmp_path, text)
    assert file.name == "dotted"
    assert file.axes == {"lr": ft.Real(1, 10, log=True), "momentum": ft.Real(0, 1), "a b": "c"}
    assert file.fidelity.levels == (64, 128, 256)


def test_a_byte_order_mark_and_carriage_returns_do_no_harm(tmp_path):
    path = tmp_path / "study.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert read_study_file(path).axes == {"x": ft.Real(0, 1)}
    path.write_bytes(path.read_bytes().replace(b"budget", b"badget"))
    with pytest.raises(ft.StudyFileError, match=r"line 2, \[study\] badget"):
        read_study_file(path)


# Files that cannot be read ----------------------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_says_why(tmp_path):
    with pytest.raises(ft.StudyFileError, match=r"no study file .*nix.toml; check the path, or write one with farthing init"):
        read_study_file(tmp_path / "nix.toml")
    with pytest.raises(ft.StudyFileError, match="is a folder"):
        read_study_file(tmp_path)
    with pytest.raises(ft.StudyFileError, match="cannot be read"):
        read_study_file("a\0b")


@pytest.mark.parametrize("text", ["", " \n\t\n"])
def test_an_empty_file_is_called_empty(tmp_path, text):
    assert refusal(tmp_path, text) == "study.toml is empty; write a study file with farthing init"


def test_what_is_not_utf8_is_named_with_its_line(tmp_path):
    path = tmp_path / "study.toml"
    path.write_bytes(b'[study]\nname = "caf\xe9"\n')
    with pytest.raises(ft.StudyFileError, match=r"study\.toml, line 2: this is not UTF-8 text; save the file in UTF-8"):
        read_study_file(path)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[study]\nname digits\n", 2),
        ("[study]\nname = 'x\n", 2),
        ("[study]\nseed = 1\nseed = 2\n", 3),
        ("[study]\n[space\n", 2),
        ('[study]\nname = """x\n\n', 2),
    ],
)
def test_a_syntax_error_is_named_with_its_line(tmp_path, text, line):
    message = refusal(tmp_path, text)
    assert message.startswith(f"study.toml, line {line}: this is not TOML: ")
    assert message.count("line") == 2  # that one, and "mend the line"


def test_absurd_nesting_is_an_error_of_the_file(tmp_path):
    assert "nested too deep" in refusal(tmp_path, f"[study]\nname = {'[' * 5000}{']' * 5000}\n")


# Mistakes ---------------------------------------------------------------------------------------------------------------------

UNKNOWN = [
    ("[study]", "[stdy]", "line 1, stdy: a study file has no such table; did you mean [study]?"),
    ("[fidelity]", "[zeppelin]", "line 24, zeppelin: a study file has no such table; there may be [study], [objective], [space]"),
    ("seed = 1", "sede = 1", "line 9, [study] sede: there is no such key here; did you mean 'seed'?"),
    ("seed = 1", "zeppelin = 1", "line 9, [study] zeppelin: there is no such key here; there may be name, store, method, seed"),
    ("command =", "comand =", "line 15, [objective] comand: there is no such key here; did you mean 'command'?"),
    ("log = true }", "lag = true }", "line 19, [space] lr.lag: there is no such key here; did you mean 'log'?"),
    ("{ integer =", "{ integr =", "line 20, [space] layers.integr: there is no such key here; did you mean 'integer'?"),
    ("cheap = 100", "cheep = 100", "line 26, [fidelity] cheep: there is no such key here; did you mean 'cheap'?"),
    ("draws = 4", "draw = 4", "line 32, [settings] draw: there is no such key here; did you mean 'draws'?"),
    ('"pes", rivals', '"pes", rivlas', "line 8, [study] method.rivlas: method 'pes' has no option 'rivlas'; it has support"),
]

WRONG = [
    ('name = "digits"', "name = 5", "line 2, [study] name: this is 5; give text in quotes"),
    ('name = "digits"', 'name = " "', "line 2, [study] name: the name is ' '; give the study a name of at least one letter"),
    ('name = "digits"', r'name = "two\nlines"', r"line 2, [study] name: the name is 'two\nlines'; give one line"),
    ('store = "digits.db"', "store = true", "line 3, [study] store: this is True; give a path"),
    ('store = "digits.db"', 'store = ""', "line 3, [study] store: this is ''; give a path"),
    ('budget = "8 h"', "budget = true", 'line 4, [study] budget: this is True; give a number above zero, or a time such as "90 s"'),
    ('budget = "8 h"', 'budget = "8 parsecs"', "line 4, [study] budget: this is '8 parsecs'"),
    ('budget = "8 h"', "budget = -1", "line 4, [study] budget: this is -1"),
    ('budget = "8 h"', "budget = inf", "line 4, [study] budget: this is inf"),
    ('budget = "8 h"', "budget = 08:00:00", "line 4, [study] budget: this is datetime.time(8, 0)"),
    ("evaluations = 50", "evaluations = 0", "line 5, [study] evaluations: this is 0; give a whole number from 1 up"),
    ("evaluations = 50", "evaluations = 5.0", "line 5, [study] evaluations: this is 5.0; give a whole number from 1 up"),
    ("target = 0.02", "target = nan", "line 6, [study] target: this is nan; give a finite number"),
    ("regret = 0.001", "regret = 0", "line 7, [study] regret: this is 0; give a finite number above zero"),
    ('{ name = "pes", rivals = 4 }', "5", 'line 8, [study] method: this is 5; give a name such as "envpes", or a table'),
    ('{ name = "pes", rivals = 4 }', '"envpse"', "line 8, [study] method: there is no method 'envpse'; choose one of envpes"),
    ('{ name = "pes", rivals = 4 }', "{ name = [1] }", "line 8, [study] method: this is {'name': [1]}; give a name"),
    ('"pes", rivals = 4', '"pes", rivals = -4', "line 8, [study] method.rivals: rivals is -4; give a whole number from 0 up"),
    ("seed = 1", "seed = -1", "line 9, [study] seed: this is -1; give a whole number from 0 up"),
    ("seed = 1", "seed = true", "line 9, [study] seed: this is True; give a whole number from 0 up"),
    ("workers = 2", "workers = 0", "line 10, [study] workers: this is 0; give a whole number from 1 up"),
    ('timeout = "30 min"', "timeout = 0", "line 11, [study] timeout: this is 0; give a number above zero, or a time"),
    ("max_failures = 3", 'max_failures = "3"', "line 12, [study] max_failures: this is '3'; give a whole number from 1 up"),
    ('["python",', "[5,", "line 15, [objective] command: this is [5, 'train.py'"),
    ("{lr}", "{ler}", "line 15, [objective] command: the command has {ler}, which is no parameter; use {lr}, {layers}"),
    ('"{layers}", ', "", "line 15, [objective] command: no argument of the command has {layers}"),
    ("{rows}", "{rows", "line 15, [objective] command: argument '{rows' has a brace without its other half"),
    ('folder = "."', 'folder = "nowhere"', "line 16, [objective] folder: there is no folder"),
    ('folder = "."', "folder = 1", "line 16, [objective] folder: this is 1; give the path of a folder"),
    ("[1e-5, 1e-1]", "[1e-1, 1e-5]", "line 19, [space] lr: axis 'lr' runs from 0.1 to 1e-05; give a lower bound below"),
    ("[1e-5, 1e-1]", "[0, 1e-1]", "line 19, [space] lr.log: axis 'lr' is logarithmic but starts at 0.0"),
    ("[1e-5, 1e-1]", "[1e-5]", "line 19, [space] lr: axis 'lr' has the bounds [1e-05]; give a list [low, high]"),
    ("[1e-5, 1e-1]", '["a", "b"]', "line 19, [space] lr: the lower bound of axis 'lr' is 'a'; give a number"),
    ("log = true }", "log = 1 }", "line 19, [space] lr.log: axis 'lr' has log = 1; give true or false"),
    ("{ integer = [1, 8] }", "[1, 8]", "line 20, [space] layers: axis 'layers' is [1, 8]; give it one of real, integer"),
    ("{ integer = [1, 8] }", "{ integer = [1.5, 8] }", "line 20, [space] layers: axis 'layers' is of whole numbers but"),
    ("{ integer = [1, 8] }", "2024-01-01", "line 20, [space] layers: axis 'layers' is datetime.date(2024, 1, 1)"),
    ('["adam", "sgd"]', '"adam"', "line 21, [space] optimizer: axis 'optimizer' has the options 'adam'; give a list"),
    ('["adam", "sgd"]', '["adam"]', "line 21, [space] optimizer: axis 'optimizer' has the options ['adam']; give a list"),
    ('["adam", "sgd"]', '["adam", "adam"]', "line 21, [space] optimizer: axis 'optimizer' has equal options"),
    ("verbose = false", "verbose = { fixed = [1] }", "[space] verbose: axis 'verbose' is [1]; give a farthing.Real"),
    ('name = "rows"', "name = 1", "line 25, [fidelity] name: the fidelity's name is 1; give the name of the objective's argument"),
    ('name = "rows"', 'name = "lr"', "line 19, [space] lr: 'lr' is both an axis and the fidelity; drop one of them"),
    ('name = "rows"\n', "", "line 24, [fidelity]: the fidelity has no name"),
    ("cheap = 100\n", "", "line 24, [fidelity]: cheap of 'rows' is None; give a number"),
    ("cheap = 100", 'cheap = "few"', "line 26, [fidelity] cheap: cheap of 'rows' is 'few'; give a number"),
    ("cheap = 100", "cheap = 10000", "line 26, [fidelity] cheap: fidelity 'rows' has cheap = full"),
    ("cheap = 100", "levels = [1]", "line 26, [fidelity] levels: fidelity 'rows' has levels, and cheap or full beside them"),
    ("integer = true", 'integer = "yes"', "line 29, [fidelity] integer: the fidelity has integer = 'yes'; give true or false"),
    ("draws = 4", "draws = 0", "line 32, [settings] draws: setting draws is 0; give a whole number from 1 up"),
    ("draws = 4", 'kernel = "matern12"', "line 32, [settings] kernel: "),
    ("[0.5, 1.0]", "0.5", "line 33, [settings] initial_fidelities: setting initial_fidelities is 0.5"),
]


@pytest.mark.parametrize(("right", "wrong", "expected"), [*UNKNOWN, *WRONG])
def test_a_mistake_is_named_with_its_line_its_key_and_a_remedy(tmp_path, right, wrong, expected):
    assert right in COMPLETE
    message = refusal(tmp_path, COMPLETE.replace(right, wrong, 1))
    assert expected in message
    assert message.startswith("study.toml, line ")
    assert ";" in message or "?" in message


def test_a_kernel_that_the_method_cannot_use_is_found_before_the_run(tmp_path):
    message = refusal(tmp_path, f'{SMALL}[settings]\nkernel = "matern32"\n')
    assert message.startswith("study.toml, line 7, [settings] kernel: EnvPES conditions on second derivatives")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[study]\nbudget = 1\n", "study.toml: there is no axis in [space]; add one, such as lr = {"),
        ("[study]\n[space]\n", "study.toml, line 2, [space]: there is no axis in [space]; add one"),
        ("[space]\nx = 1\n", "study.toml, line 2, [space] x: the space {'x': 1} has fixed values alone"),
        ('name = "x"\n[space]\n', "study.toml, line 1, name: this stands outside of any table; put it below [study]"),
        ("lr = 5\n[space]\n", "study.toml, line 1, lr: this stands outside of any table; put it below [space]"),
        ("study = 5\n", "study.toml, line 1, [study]: this is no table; write [study] on a line of its own"),
        ("[[study]]\nname = 'x'\n", "study.toml, line 1, [study]: this is no table"),
        (f"{SMALL}[objective]\n", "study.toml, line 6, [objective]: give it either command ="),
        (f"{SMALL}[objective]\ncommand = ['true']\npython = 'a:b'\n", "study.toml, line 6, [objective]: give it either command ="),
        (f"{SMALL}[objective]\ncommand = []\n", "study.toml, line 7, [objective] command: this is []; give a list of texts"),
        (f"{SMALL}[objective]\ncommand = 'train --x {{x}}'\n", 'arguments one by one, such as ["train", "--x", "{x}"]'),
        (f'{SMALL}[objective]\ncommand = "it\'s"\n', 'give the program and its arguments one by one, such as ["python"'),
        (f"{SMALL}[objective]\npython = 'train'\n", "study.toml, line 7, [objective] python: the function is 'train'; give"),
        (f"{SMALL}[objective]\npython = 5\n", "study.toml, line 7, [objective] python: this is 5; give text such as"),
        ('[study]\nname = "a/b"\n[space]\nx = { real = [0, 1] }\n', "study.toml, line 2, [study] name: no file can be called a/b"),
    ],
)
def test_what_is_missing_or_in_the_wrong_place_is_named(tmp_path, text, expected):
    assert expected in refusal(tmp_path, text)


# Lines ------------------------------------------------------------------------------------------------------------------------


def test_lines_are_found_behind_everything_that_can_hide_a_key():
    text = r'''# comment = 1 [not.a.table]
top = 1

[ study ]  # [no]
name = "quoted = 5 # [x]"
'single quoted' = 'it = [1'
"es\u0063aped" = 2
text = """
hidden = 1
[hidden]
\""" still = "
"""
literal = """"quotes at the ends""""
raw = QQQ
fake = 1
QQQ
array = [
  "a = 1",  # b = 2
  { inner = 1 },
  [1.5, 2024-01-01T00:00:00Z],
]
a . b = { c = [1, 2], "d e".f = { g = 1 }, h = true }
after = -1.5e3
[space.lr]
real = [0, 1]
[[many]]
k = 1
[[many]]
'''.replace("QQQ", "'''")
    tomllib.loads(text)
    lines = lines_of(text)
    expected = {
        ("top",): "top =",
        ("study",): "[ study ]",
        ("study", "name"): "name =",
        ("study", "single quoted"): "'single",
        ("study", "escaped"): '"es',
        ("study", "text"): "text =",
        ("study", "literal"): "literal =",
        ("study", "raw"): "raw =",
        ("study", "array"): "array =",
        ("study", "array", "inner"): "  { inner",
        ("study", "a"): "a . b",
        ("study", "a", "b"): "a . b",
        ("study", "a", "b", "c"): "a . b",
        ("study", "a", "b", "d e"): "a . b",
        ("study", "a", "b", "d e", "f"): "a . b",
        ("study", "a", "b", "d e", "f", "g"): "a . b",
        ("study", "a", "b", "h"): "a . b",
        ("study", "after"): "after",
        ("space",): "[space.lr]",
        ("space", "lr"): "[space.lr]",
        ("space", "lr", "real"): "real =",
        ("many",): "[[many]]",
        ("many", "k"): "k = 1",
    }
    source = text.splitlines()
    assert set(lines) == set(expected)
    for key, start in expected.items():
        assert source[lines[key] - 1].startswith(start), key


# Functions --------------------------------------------------------------------------------------------------------------------

MODULE = """
import os, sys
from helper import HALF

def loss(x, rows=1):
    return x * HALF

def where(**kwargs):
    return os.getcwd()

number = 5
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine_to_load.py").write_text(MODULE)
    (tmp_path / "helper.py").write_text("HALF = 0.5\n")
    (tmp_path / "breaks.py").write_text("import nonexistent_dependency\n")
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "dies.py").write_text("import os\nos._exit(3)\n")
    return tmp_path


def with_function(folder, where):
    return read(folder, f'{SMALL}[objective]\npython = "{where}"\n')


def test_a_function_is_called_in_its_folder_by_another_process(folder):
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    loss = with_function(folder, "mine_to_load:loss").checked_objective()
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(loss, x=3.0).result() == 1.5
        assert pool.submit(Function("mine_to_load:where", str(folder))).result() == str(folder)
    import sys

    assert "mine_to_load" not in sys.modules  # checking it must not import it here


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("nothing_there:loss", "there is no module 'nothing_there' in {folder}, nor an installed one; check its name, or folder ="),
        ("mine_to_load.deeper:loss", "there is no module 'mine_to_load.deeper' in {folder}"),
        ("mine_to_load:lost", "has no 'lost'; did you mean 'loss'?"),
        ("mine_to_load:zeppelin", "has no 'zeppelin'; check its name"),
        ("mine_to_load:number", "'mine_to_load:number' is 5, which cannot be called; name a function"),
        ("breaks:loss", "importing the module 'breaks' failed: ModuleNotFoundError: No module named 'nonexistent_dependency'"),
        ("leaves:loss", "importing the module 'leaves' failed: SystemExit: 3"),
        ("dies:loss", "the process that imported 'dies:loss' died"),
        ("helper:HALF.hex", "'helper:HALF.hex' cannot be called with x=...: got an unexpected keyword argument 'x'"),
    ],
)
def test_a_function_that_cannot_be_called_is_found_before_the_run(folder, where, expected):
    file = with_function(folder, where)
    with pytest.raises(ft.StudyFileError) as caught:
        file.checked_objective()
    assert expected.format(folder=folder) in str(caught.value)
    assert "study.toml, line 7, [objective] python: " in str(caught.value)


def test_a_pickled_function_is_loaded_where_it_arrives_so_that_no_evaluation_pays_for_its_imports(folder):
    with pytest.raises(ft.SettingsError, match="no module 'nothing_there'"):
        pickle.loads(pickle.dumps(Function("nothing_there:loss", str(folder))))


@pytest.mark.parametrize("program", ["no-such-program", "./no-such-script.sh", "./plain.txt"])
def test_a_program_that_is_not_there_is_found_before_the_run(tmp_path, program):
    (tmp_path / "plain.txt").write_text("not executable\n")
    file = read(tmp_path, f'{SMALL}[objective]\ncommand = ["{program}", "{{x}}"]\n')
    with pytest.raises(ft.StudyFileError, match=r"line 7, \[objective\] command: there is no program"):
        file.checked_objective()


def test_a_program_beside_the_file_is_found_from_anywhere(tmp_path, monkeypatch):
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/sh\necho 1\n")
    script.chmod(0o755)
    monkeypatch.chdir("/")
    assert read(tmp_path, f'{SMALL}[objective]\ncommand = ["./script.sh", "{{x}}"]\n').checked_objective()(x=1.0).value == 1.0


def test_a_file_without_an_objective_has_nothing_to_run(tmp_path):
    with pytest.raises(ft.StudyFileError, match=r"no \[objective\] table, so there is nothing to run; add one"):
        parse_study_file(SMALL, Path(tmp_path / "study.toml")).checked_objective()
