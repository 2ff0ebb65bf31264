"""The columns of molecules. Their categories are fixed, so that all sets of molecules have equal schemas.

Encoders see a compact set by default: with every descriptor of an atom as a feature, almost every atom would
be a colour of its own before the first round.
"""

from __future__ import annotations

from infograph.data.schema import Column

# Atomic number -> symbol; "*" is the placeholder atom of SMILES.
PERIODIC_TABLE = """
*  H  He
Li Be B  C  N  O  F  Ne
Na Mg Al Si P  S  Cl Ar
K  Ca Sc Ti V  Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr
Rb Sr Y  Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I  Xe
Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W  Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn
Fr Ra Ac Th Pa U  Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og
"""

ELEMENT = Column("element", "categorical", categories=tuple(PERIODIC_TABLE.split()))
CHARGE = Column("charge", "categorical", categories=tuple(range(-4, 5)))
HYDROGENS = Column("hydrogens", "categorical", categories=tuple(range(5)))
AROMATIC = Column("aromatic", "categorical", categories=(False, True))
ATOMIC_NUMBER = Column("atomic_number", "float")
HYBRIDISATION = Column(
    "hybridisation", "categorical", categories=("s", "sp", "sp2", "sp3", "sp2d", "sp3d", "sp3d2")
)
CHIRALITY = Column("chirality", "categorical", categories=("none", "R", "S"))
POSITION = Column("position", "float", width=3, unit="angstrom", used=False, role="position")

BOND = Column("bond", "categorical", categories=("single", "double", "triple", "aromatic"))
STEREO = Column("stereo", "categorical", categories=("none", "E", "Z"))

SMILES = Column("smiles", "text")
